//! Buckets, and whether they can be public.

use super::request::{Ask, HOME};
use super::session::{Pages, Session};
use crate::connect::aws::account::{Bucket, PublicAccess};
use crate::connect::aws::answer::{
    ListedBucket, NextPage, is_policy_public, is_region, listed_buckets, public_access,
};
use crate::connect::aws::refusal::Refusal;
use crate::connect::call::{Answer, Parts, Unread, encoded};
use crate::connect::reading::Stream;

const ACCOUNT_PATH: &str = "/v20180820/configuration/publicAccessBlock";
const PAGE_ROWS: &str = "1000";
const PAGES: Pages =
    Pages { next: NextPage::Xml(&["ContinuationToken"]), parameter: "continuation-token" };

/// What is read of storage.
pub(super) struct Storage {
    pub(super) public_access: Option<PublicAccess>,
    /// `None` also if the settings of the account say enough.
    pub(super) buckets: Option<Vec<Bucket>>,
    pub(super) streams: Vec<Stream>,
}

pub(super) async fn read(session: &mut Session<'_>) -> Storage {
    let mut parts = Parts::of("account_public_access_block");
    let read = of_account(session).await;
    let public_access = parts.take("", read, |_| 1);
    let mut streams = vec![parts.stream()];
    if public_access.is_some_and(PublicAccess::is_all_on) {
        return Storage { public_access, buckets: None, streams };
    }
    let mut parts = Parts::of("buckets");
    let buckets = read_buckets(session, &mut parts).await;
    streams.push(parts.stream());
    Storage { public_access, buckets: buckets.filter(|_| parts.is_complete()), streams }
}

async fn of_account(session: &mut Session<'_>) -> Result<PublicAccess, Unread> {
    let account = session.config.account.clone();
    let ask = Ask::s3_of_account(&account, ACCOUNT_PATH, "GetAccountPublicAccessBlock");
    let answer = session.ask(&ask).await?;
    if Refusal::of(&answer).code == "NoSuchPublicAccessBlockConfiguration" {
        return Ok(PublicAccess::default());
    }
    let text = session.success(&answer, &ask)?;
    public_access(&text).ok_or_else(|| super::session::unreadable(&ask))
}

async fn read_buckets(session: &mut Session<'_>, parts: &mut Parts) -> Option<Vec<Bucket>> {
    let ask = Ask::s3(HOME, "/".to_owned(), "ListAllMyBuckets").with("max-buckets", PAGE_ROWS);
    let listed = session.all(&ask, &PAGES, listed_buckets).await;
    let listed = parts.take("", listed, |_| 0)?;
    let mut buckets = Vec::with_capacity(listed.len());
    for it in listed {
        let read = read_bucket(session, &it).await;
        // One that was deleted meanwhile is not there.
        if let Some(bucket) = parts.take(&it.name, read, |it| usize::from(it.is_some())) {
            buckets.extend(bucket);
        }
    }
    Some(buckets)
}

/// `None`: it does not exist.
async fn read_bucket(
    session: &mut Session<'_>,
    listed: &ListedBucket,
) -> Result<Option<Bucket>, Unread> {
    let mut region = listed.region.clone().unwrap_or_else(|| HOME.to_owned());
    let ask =
        |region: &str| of_bucket(listed, region, "publicAccessBlock", "GetBucketPublicAccessBlock");
    let mut answer = session.ask(&ask(&region)).await?;
    if let Some(other) = elsewhere(&answer) {
        region = other;
        answer = session.ask(&ask(&region)).await?;
    }
    let block = match Refusal::of(&answer).code.as_str() {
        "NoSuchBucket" => return Ok(None),
        "NoSuchPublicAccessBlockConfiguration" => PublicAccess::default(),
        _ => {
            let ask = ask(&region);
            let text = session.success(&answer, &ask)?;
            public_access(&text).ok_or_else(|| super::session::unreadable(&ask))?
        }
    };
    let mut bucket =
        Bucket { name: listed.name.clone(), public_access: Some(block), is_policy_public: None };
    if block.is_all_on() {
        return Ok(Some(bucket)); // Its policy changes nothing.
    }
    let ask = of_bucket(listed, &region, "policyStatus", "GetBucketPolicyStatus");
    let answer = session.ask(&ask).await?;
    bucket.is_policy_public = match Refusal::of(&answer).code.as_str() {
        "NoSuchBucket" => return Ok(None),
        "NoSuchBucketPolicy" => Some(false),
        _ => {
            let text = session.success(&answer, &ask)?;
            Some(is_policy_public(&text).ok_or_else(|| super::session::unreadable(&ask))?)
        }
    };
    Ok(Some(bucket))
}

/// The name in the path, because names may have dots, for which no certificate of S3 is valid.
fn of_bucket(listed: &ListedBucket, region: &str, what: &'static str, action: &'static str) -> Ask {
    Ask::s3(region, format!("/{}", encoded(&listed.name)), action).with(what, "")
}

/// The region of a bucket that was asked for in another one.
fn elsewhere(answer: &Answer) -> Option<String> {
    let region = answer.header("x-amz-bucket-region");
    (matches!(answer.status, 301 | 307 | 400) && is_region(&region)).then_some(region)
}
