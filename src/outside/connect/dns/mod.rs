//! The DNS: what a client's domains publish about mail, read without any credential.
//!
//! [`judge`] is pure: from answers it makes a group, or says what is still to be asked. [`read`] asks until nothing is left.

mod answer;
mod dkim;
mod dmarc;
mod domain;
mod judge;
mod mail;
mod note;
mod resolver;
mod ruling;
mod spf;
mod tag;

use futures_util::future::join_all;
use futures_util::stream::{StreamExt, iter};
use tokio::time::Instant;

use crate::connect::reading::{Group, Reading};

pub use answer::{Answer, Answers, Query, RecordKind};
pub use domain::{DOMAIN_CHARS_MAX, Domain};
pub use judge::{Step, judge};
pub use resolver::{DnsLimits, DnsResolver};

/// Domains that are read at the same time. More wait.
const N_DOMAINS_AT_ONCE: usize = 4;
/// More queries about one domain fail. A domain with all that rules follow needs fewer.
const N_QUERIES_MAX: usize = 200;

/// Reads and judges domains: a group for each, in their order. A control that is not known of one of them shows only what fails
/// of the others.
///
/// Cannot fail as a whole: what could not be read is in the streams. Takes at most [`DnsLimits::domain`] for a domain.
pub async fn read(domains: &[Domain], resolver: &DnsResolver) -> Reading {
    resolver.forget();
    let reads: Vec<_> = domains.iter().map(|it| read_domain(it, resolver)).collect();
    let mut groups: Vec<Group> = iter(reads).buffered(N_DOMAINS_AT_ONCE).collect().await;
    let unread = groups.iter().flat_map(judge::unread).collect();
    for group in &mut groups {
        group.show_only_gaps(&unread);
    }
    Reading { groups, ..Reading::default() }
}

async fn read_domain(domain: &Domain, resolver: &DnsResolver) -> Group {
    let deadline = Instant::now() + resolver.limits.domain;
    let mut answers = Answers::new();
    loop {
        let queries = match judge(domain, &answers) {
            Step::Done(group) => return group,
            Step::Ask(queries) => queries,
        };
        let n_left = N_QUERIES_MAX.saturating_sub(answers.len());
        let (asked, refused): (Vec<_>, Vec<_>) =
            queries.into_iter().enumerate().partition(|(index, _)| *index < n_left);
        let asked = asked.into_iter().map(|(_, query)| async move {
            let answer = resolver.ask(&query, deadline).await;
            (query, answer)
        });
        answers.extend(join_all(asked).await);
        let why = format!("more than {N_QUERIES_MAX} queries about one domain");
        answers.extend(refused.into_iter().map(|(_, query)| (query, Answer::Failed(why.clone()))));
    }
}
