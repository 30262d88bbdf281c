//! What is read of each region.

use super::request::{Ask, HOME};
use super::session::{Pages, Session};
use crate::connect::aws::account::Region;
use crate::connect::aws::answer::{
    NextPage, databases, detector_ids, encrypts_volumes, is_detecting, region_names,
    security_groups,
};
use crate::connect::call::{Parts, Unread, encoded};
use crate::connect::reading::Stream;

const EC2_VERSION: &str = "2016-11-15";
const RDS_VERSION: &str = "2014-10-31";
const GROUPS: Pages = Pages { next: NextPage::Xml(&["nextToken"]), parameter: "NextToken" };
const DATABASES: Pages =
    Pages { next: NextPage::Xml(&["DescribeDBInstancesResult", "Marker"]), parameter: "Marker" };
const DETECTORS: Pages = Pages { next: NextPage::Json("nextToken"), parameter: "nextToken" };

fn ec2(region: &str, action: &'static str) -> Ask {
    Ask::query("ec2", region, action, EC2_VERSION)
}

/// Those that are enabled for the account. What was made in others before they were disabled runs no more.
pub(super) async fn names(session: &mut Session<'_>) -> (Option<Vec<String>>, Stream) {
    let mut parts = Parts::of("regions");
    let read = session.one(&ec2(HOME, "DescribeRegions"), region_names).await;
    let read = read.and_then(|it| {
        // Every account has this one.
        let is_whole = it.iter().any(|it| it == HOME);
        let odd = || Unread::failed(format!("the list of regions lacks {HOME}"));
        if is_whole { Ok(it) } else { Err(odd()) }
    });
    (parts.take("", read, Vec::len), parts.stream())
}

/// `names`: `None`: they were not read.
pub(super) async fn read(
    session: &mut Session<'_>,
    names: Option<&[String]>,
) -> (Option<Vec<Region>>, Vec<Stream>) {
    let mut all =
        ["security_groups", "databases", "guardduty_detectors", "volume_encryption"].map(Parts::of);
    let Some(names) = names else {
        for it in &mut all {
            it.take::<()>("", Err(Unread::failed("the regions were not read")), |()| 0);
        }
        return (None, all.iter().map(Parts::stream).collect());
    };
    let [groups, instances, watchers, volumes] = &mut all;
    let mut regions = Vec::with_capacity(names.len());
    for name in names {
        let ask = ec2(name, "DescribeSecurityGroups").with("MaxResults", "1000");
        let read = session.all(&ask, &GROUPS, security_groups).await;
        let mut region = Region { name: name.clone(), ..Region::default() };
        region.security_groups = groups.take(name, read, Vec::len);
        let ask = Ask::query("rds", name, "DescribeDBInstances", RDS_VERSION);
        let read = session.all(&ask.with("MaxRecords", "100"), &DATABASES, databases).await;
        region.databases = instances.take(name, read, Vec::len);
        // Nothing is asked of regions that nobody uses.
        if region.is_in_use() != Some(false) {
            region.detectors = watchers.take(name, detectors(session, name).await, Vec::len);
            let ask = ec2(name, "GetEbsEncryptionByDefault");
            let read = session.one(&ask, encrypts_volumes).await;
            region.encrypts_volumes = volumes.take(name, read, |_| 1);
        }
        regions.push(region);
    }
    (Some(regions), all.iter().map(Parts::stream).collect())
}

async fn detectors(session: &mut Session<'_>, region: &str) -> Result<Vec<Option<bool>>, Unread> {
    let list = Ask::guardduty(region, "/detector".to_owned(), "ListDetectors");
    let ids = session.all(&list.with("maxResults", "50"), &DETECTORS, detector_ids).await?;
    let mut found = Vec::with_capacity(ids.len());
    for id in ids {
        let path = format!("/detector/{}", encoded(&id));
        let ask = Ask::guardduty(region, path, "GetDetector");
        found.push(Some(session.one(&ask, is_detecting).await?));
    }
    Ok(found)
}
