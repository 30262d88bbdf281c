//! Tokens: fetched when the first call needs one, once at a time, and again when one is refused.

use std::time::Duration;

use serde_json::Value;
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::unread::Unread;
use super::{Api, Auth, Call, explain_clock};
use crate::clock::Time;

/// A token is not used in its last minutes.
const SLACK: Duration = Duration::from_mins(2);
/// Of a token whose answer does not say.
const LIFE: Duration = Duration::from_mins(10);
/// No token is used longer.
const LIFE_S_MAX: u64 = 86_400;

type Ask = dyn Fn(Time) -> Result<Call, Unread> + Send + Sync;

/// Where the tokens of one run come from.
pub struct TokenSource {
    ask: Box<Ask>,
    held: Mutex<Held>,
}

enum Held {
    Nothing,
    Token {
        value: String,
        until: Instant,
    },
    /// It is not asked for again in this run.
    Refused(Unread),
}

impl TokenSource {
    /// `ask`: the request for a token, made at this time.
    #[must_use]
    pub fn of(ask: impl Fn(Time) -> Result<Call, Unread> + Send + Sync + 'static) -> Self {
        Self { ask: Box::new(ask), held: Mutex::new(Held::Nothing) }
    }

    /// A token for a protocol other than HTTP.
    ///
    /// # Errors
    /// Why there is none. This source then has none any more.
    pub async fn token(&self, api: &Api) -> Result<String, Unread> {
        self.get(api, None).await
    }

    /// `refused`: a token that was refused.
    pub(super) async fn get(&self, api: &Api, refused: Option<&str>) -> Result<String, Unread> {
        let mut held = self.held.lock().await;
        match &*held {
            Held::Refused(unread) => return Err(unread.clone()),
            Held::Token { value, until }
                if Instant::now() < *until && refused != Some(value.as_str()) =>
            {
                return Ok(value.clone());
            }
            Held::Token { .. } | Held::Nothing => (),
        }
        match self.fetch(api).await {
            Ok((value, life)) => {
                let until = Instant::now() + life;
                *held = Held::Token { value: value.clone(), until };
                Ok(value)
            }
            Err(unread) => {
                *held = Held::Refused(unread.clone());
                Err(unread)
            }
        }
    }

    async fn fetch(&self, api: &Api) -> Result<(String, Duration), Unread> {
        let now = api.clock.now();
        let answer = api.exchange(&(self.ask)(now)?, &Auth::None).await?;
        if answer.status != 200 {
            let unread = (api.dialect.explain_token)(&answer);
            return Err(explain_clock(unread, &answer, now));
        }
        let told = answer.json()?;
        let token = told.get("access_token").and_then(Value::as_str).filter(|it| is_token(it));
        let Some(token) = token else {
            return Err(Unread::failed("the answer to the request for a token has no token"));
        };
        let life = told.get("expires_in").and_then(|it| match it.as_str() {
            Some(text) => text.parse().ok(),
            None => it.as_u64(),
        });
        let life = life.map_or(LIFE, |it| Duration::from_secs(it.min(LIFE_S_MAX)));
        Ok((token.to_owned(), life.saturating_sub(SLACK)))
    }
}

/// It can be sent in a header.
fn is_token(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|it| it.is_ascii_graphic())
}
