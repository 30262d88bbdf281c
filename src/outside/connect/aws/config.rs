//! How an account is reached.

use super::sign::Credentials;
use crate::connect::call::Unread;
use crate::connect::kind::Values;

/// The names of the settings, the last two secret.
const ROLE_ARN: &str = "role_arn";
const ACCOUNT_ID: &str = "account_id";
const KEY_ID: &str = "access_key_id";
const SECRET: &str = "secret_access_key";

#[derive(Clone, Debug)]
pub struct AwsConfig {
    /// Its 12 digits.
    pub account: String,
    /// To assume. `None`: the key belongs to the account itself.
    pub role_arn: Option<String>,
    /// What the trust policy of the role asks for, so that nobody else has the role assumed through Posture.
    pub external_id: String,
    pub key: Credentials,
}

impl AwsConfig {
    /// # Errors
    /// `Credential` with what is to be set.
    pub fn of(
        values: &Values,
        secrets: &Values,
        external_id: impl Into<String>,
    ) -> Result<Self, Unread> {
        let role_arn = values.get(ROLE_ARN).cloned();
        let of_role = role_arn.as_deref().and_then(account_of);
        let account = match (of_role, values.get(ACCOUNT_ID)) {
            (Some(of_role), Some(account)) if of_role != account => {
                return Err(Unread::credential(format!(
                    "the role is of the account {of_role}, and account_id is {account}; set both to the same account"
                )));
            }
            (Some(account), _) => account.to_owned(),
            (None, Some(account)) => account.clone(),
            (None, None) => {
                return Err(Unread::credential(
                    "set role_arn to the role in the client's account, or account_id if the access key belongs to the account itself",
                ));
            }
        };
        let secret = |name: &str| {
            let missing = || {
                Unread::credential(format!(
                    "{name} is missing; enter it with `posture connect set`"
                ))
            };
            secrets.get(name).cloned().ok_or_else(missing)
        };
        let key =
            Credentials { key_id: secret(KEY_ID)?, secret: secret(SECRET)?, session_token: None };
        Ok(Self { account, role_arn, external_id: external_id.into(), key })
    }
}

/// The account in a name such as `arn:aws:iam::123456789012:role/Posture`.
fn account_of(arn: &str) -> Option<&str> {
    arn.split(':').nth(4)
}
