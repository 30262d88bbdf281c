//! Trails: the records of who did what.

use serde_json::json;

use super::request::{Ask, HOME};
use super::session::Session;
use crate::connect::aws::account::Trail;
use crate::connect::aws::answer::{is_logging, is_region, trails};
use crate::connect::call::{Parts, Unread};
use crate::connect::reading::Stream;

/// `regions`: all that are enabled. `None`: they were not read.
pub(super) async fn read(
    session: &mut Session<'_>,
    regions: Option<&[String]>,
) -> (Option<Vec<Trail>>, Stream) {
    let mut parts = Parts::of("trails");
    let first = of_region(session, HOME, true).await;
    let Some(mut found) = parts.take(HOME, first, Vec::len) else {
        return (None, parts.stream());
    };
    let is_enough = |it: &Trail| it.is_multi_region == Some(true) && it.is_logging == Some(true);
    // Each region lists the trails of all regions, so those of one region alone are looked for only if there is none.
    if !found.iter().any(is_enough) {
        let Some(regions) = regions else {
            parts.take::<()>("", Err(Unread::failed("the regions were not read")), |()| 0);
            return (None, parts.stream());
        };
        for region in regions.iter().filter(|it| *it != HOME) {
            let read = of_region(session, region, false).await;
            found.extend(parts.take(region, read, Vec::len).into_iter().flatten());
        }
    }
    (Some(found).filter(|_| parts.is_complete()), parts.stream())
}

/// `with_others`: also trails of other regions that record this one.
async fn of_region(
    session: &mut Session<'_>,
    region: &str,
    with_others: bool,
) -> Result<Vec<Trail>, Unread> {
    let body = json!({"includeShadowTrails": with_others});
    let mut found = session.one(&Ask::cloudtrail(region, "DescribeTrails", body), trails).await?;
    for trail in &mut found {
        let home = trail.arn.split(':').nth(3).filter(|it| is_region(it)).unwrap_or(region);
        let ask = Ask::cloudtrail(home, "GetTrailStatus", json!({"Name": trail.arn}));
        trail.is_logging = Some(session.one(&ask, is_logging).await?);
    }
    Ok(found)
}
