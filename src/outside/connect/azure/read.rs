//! Reads the secure score of each subscription.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::Value;

use super::judge::{is_known, judge};
use super::subscription::{ScoreControl, Subscription, control, subscription};
use crate::connect::call::{
    Api, Auth, Call, Cause, Collection, Letters, Pager, Parts, Rows, TokenSource, Unread, encoded,
};
use crate::connect::microsoft::{AppKey, MicrosoftApp, token_source};
use crate::connect::reading::{Group, Reading, StreamState};

const SUBSCRIPTIONS: &str = "subscriptions";
const ROLE: &str = "the role Security Reader on";
/// A note of each subscription is called so, and its id.
const NOTE: &str = "subscription ";

/// Which subscriptions to read.
#[derive(Clone, Debug, Default)]
pub struct Wanted<'a> {
    /// Empty: all that the app sees.
    pub ids: Vec<&'a str>,
    /// Those that the run before knew. One that the app sees no more was deleted, or the app lost its role on it.
    pub known: Vec<Known<'a>>,
}

#[derive(Clone, Copy, Debug)]
pub struct Known<'a> {
    pub id: &'a str,
    pub name: &'a str,
}

impl<'a> Known<'a> {
    /// The subscription that a note of [`read`] is about.
    #[must_use]
    pub fn of_note(note: &'a str, text: &'a str) -> Option<Self> {
        note.strip_prefix(NOTE).map(|id| Self { id, name: text })
    }

    fn note(self) -> (String, String) {
        (format!("{NOTE}{}", self.id), self.name.to_owned())
    }
}

/// Reads everything that rules need. Takes no longer than the API's deadline.
///
/// `tenant`: its id, or a domain of it.
pub async fn read(
    api: &Api,
    app: &MicrosoftApp,
    key: &Arc<AppKey>,
    tenant: &str,
    wanted: &Wanted<'_>,
) -> Reading {
    let management = app.cloud.management();
    let tokens = token_source(app, Arc::clone(key), tenant, management);
    let mut listed = Parts::of(SUBSCRIPTIONS);
    let found = list(api, &tokens, management, &wanted.ids).await;
    if let Err(unread) = &found
        && unread.cause != Cause::Stream
    {
        return unread.clone().reading();
    }
    let mut controls = Parts::of("secure_score_controls");
    let mut subscriptions = Vec::new();
    let seen = listed.take("", found, Vec::len);
    let mut notes = Vec::new();
    for it in wanted.known.iter().filter(|it| wanted.ids.is_empty() || wanted.ids.contains(&it.id))
    {
        let is_seen = |seen: &Vec<Subscription>| seen.iter().any(|other| other.id == it.id);
        let is_lost = match &seen {
            Some(seen) if is_seen(seen) => false,
            Some(_) => {
                let gone = confirm_gone(api, &tokens, management, it.id).await;
                listed.take(it.name, gone, |()| 0).is_none()
            }
            None => true,
        };
        notes.extend(is_lost.then(|| it.note()));
    }
    let is_listed = seen.is_some();
    for mut it in seen.into_iter().flatten() {
        notes.push(Known { id: &it.id, name: &it.name }.note());
        let read = of_subscription(api, &tokens, management, &it.id).await;
        if let Some(read) = controls.take(&it.name, read, Vec::len) {
            it.controls = read;
            subscriptions.push(it);
        }
    }
    let is_whole = listed.is_complete() && controls.is_complete();
    let observations = if is_whole { judge(&subscriptions) } else { Vec::new() };
    let mut streams = vec![listed.stream()];
    if is_listed {
        streams.push(controls.stream());
    }
    let group = Group {
        scope: SUBSCRIPTIONS.to_owned(),
        is_whole,
        streams,
        observations,
        notes,
        ..Group::default()
    };
    Reading { groups: vec![group], ..Reading::default() }
}

fn collection(url: String, permission: String) -> Collection<'static> {
    let first = Call { permission: Cow::Owned(permission), ..Call::get(url) };
    // Azure writes `/subscriptions/` also as `/Subscriptions/`.
    let pager = Pager::Link { at: Cow::Borrowed("/nextLink"), letters: Letters::AnyCase };
    Collection { pager, ..Collection::whole(first, "/value") }
}

/// All rows, as values.
fn complete<T>(
    read: Rows,
    parse: impl Fn(&Value) -> Result<T, &'static str>,
) -> Result<Vec<T>, Unread> {
    if let Some(unread) = read.unread {
        return Err(unread);
    }
    let n = read.rows.len();
    let (values, lacking): (Vec<_>, Vec<_>) = read.rows.iter().map(parse).partition(Result::is_ok);
    if let Some(Err(member)) = lacking.first() {
        let n_lacking = lacking.len();
        return Err(partial(format!("the field {member} is absent from {n_lacking} of {n} rows")));
    }
    Ok(values.into_iter().flatten().collect())
}

fn partial(reason: String) -> Unread {
    Unread { state: StreamState::Partial, ..Unread::failed(reason) }
}

/// Those that are wanted and not switched off. At least one.
async fn list(
    api: &Api,
    tokens: &TokenSource,
    management: &str,
    wanted: &[&str],
) -> Result<Vec<Subscription>, Unread> {
    let url = format!("{management}/subscriptions?api-version=2022-12-01");
    let all = collection(url, format!("{ROLE} a subscription"));
    let read = api.read(&all, &Auth::Bearer(tokens)).await;
    let seen = complete(read, subscription)?;
    let mut found: Vec<Subscription> = seen.into_iter().flatten().collect();
    if !wanted.is_empty() {
        let is_missing = |id: &&&str| found.iter().all(|it| it.id != **id);
        if let Some(id) = wanted.iter().find(is_missing) {
            return Err(Unread::denied(&format!(
                "the app {ROLE} the subscription {id}, or take it out of subscriptions"
            )));
        }
        found.retain(|it| wanted.contains(&it.id.as_str()));
    }
    if found.is_empty() {
        return Err(Unread::denied(&format!(
            "the app {ROLE} a subscription of the tenant; it sees none that is on"
        )));
    }
    Ok(found)
}

/// Asks for a subscription that is not listed any more.
///
/// # Errors
/// It is there, and the app may not see it, or nobody knows.
async fn confirm_gone(
    api: &Api,
    tokens: &TokenSource,
    management: &str,
    id: &str,
) -> Result<(), Unread> {
    let url = format!("{management}/subscriptions/{}?api-version=2022-12-01", encoded(id));
    let answer = api.ask(&Call::get(url), &Auth::Bearer(tokens)).await?;
    match answer.status {
        404 => Ok(()),
        200 => match subscription(&answer.json()?) {
            Ok(None) => Ok(()), // It was switched off.
            _ => Err(partial("it was missing from the list".to_owned())),
        },
        401 | 403 => Err(Unread::denied(&format!(
            "the app {ROLE} it, which it read before, or name the others in subscriptions"
        ))),
        status => Err(Unread::failed(format!("it is not listed any more; asked for it: {status}"))),
    }
}

async fn of_subscription(
    api: &Api,
    tokens: &TokenSource,
    management: &str,
    id: &str,
) -> Result<Vec<ScoreControl>, Unread> {
    if !id.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'-') {
        return Err(Unread::failed("the id of the subscription is not one"));
    }
    let path = format!("subscriptions/{id}/providers/Microsoft.Security/secureScoreControls");
    let url = format!("{management}/{path}?api-version=2020-01-01");
    let all = collection(url, format!("{ROLE} the subscription {id}"));
    let read = api.read(&all, &Auth::Bearer(tokens)).await;
    let found = complete(read, control)?;
    if found.is_empty() {
        return Err(partial(
            "the subscription has no secure score yet; it appears within a day".to_owned(),
        ));
    }
    if !found.iter().any(|it| is_known(&it.id)) {
        return Err(partial(
            "the secure score has none of the controls that Posture knows".to_owned(),
        ));
    }
    Ok(found)
}
