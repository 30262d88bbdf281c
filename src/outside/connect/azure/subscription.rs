//! What was read of a subscription.

use serde_json::Value;

/// A subscription, and all controls of its secure score.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subscription {
    pub id: String,
    pub name: String,
    pub controls: Vec<ScoreControl>,
}

/// A control of the secure score: how many resources meet it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScoreControl {
    /// The same in every subscription.
    pub id: String,
    pub name: String,
    pub n_healthy: u64,
    pub n_unhealthy: u64,
}

/// # Errors
/// The member that a row lacks.
pub(super) fn control(row: &Value) -> Result<ScoreControl, &'static str> {
    let text = |at: &str| row.pointer(at).and_then(Value::as_str).map(str::to_owned);
    let number = |at: &str| row.pointer(at).and_then(Value::as_u64);
    Ok(ScoreControl {
        id: text("/name").ok_or("name")?.to_ascii_lowercase(),
        name: text("/properties/displayName").ok_or("displayName")?,
        n_healthy: number("/properties/healthyResourceCount").ok_or("healthyResourceCount")?,
        n_unhealthy: number("/properties/unhealthyResourceCount")
            .ok_or("unhealthyResourceCount")?,
    })
}

/// A subscription without its controls. `None`: it is switched off, so that nothing runs in it.
///
/// # Errors
/// The member that a row lacks.
pub(super) fn subscription(row: &Value) -> Result<Option<Subscription>, &'static str> {
    let text = |name: &str| row.get(name).and_then(Value::as_str).map(str::to_owned);
    let id = text("subscriptionId").ok_or("subscriptionId")?.to_ascii_lowercase();
    let name = text("displayName").unwrap_or_else(|| id.clone());
    let is_off = matches!(text("state").ok_or("state")?.as_str(), "Disabled" | "Deleted");
    Ok((!is_off).then(|| Subscription { id, name, controls: Vec::new() }))
}
