//! What the table needs to know of a vendor.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

use super::fault::{Fault, Leaves, usual};
use crate::connect::tenant::{controls, shown};
use crate::harness::process::{Folder, Server, wait_until};

pub trait Vendor: Sized {
    /// As the table names it.
    const NAME: &'static str;
    /// The list that goes wrong, as connections name it.
    const LIST: &'static str;
    /// Rows of it. They are one more than fit on the pages that the vendor makes of it, if it has pages.
    const N_ROWS: u64 = 11;

    /// Services that are driven at the same time, because most of a run is waiting.
    const N_LANES: usize = 4;

    /// What faults leave that leave something else than they [usually](usual) do.
    const SPECIAL: &'static [(Fault, Leaves)] = &[];

    /// In good order, but for something that would look better if only a part of the list were read.
    fn start() -> Self;

    /// A client of which it was read once.
    fn connect(&self) -> Connected;

    fn leaves(fault: Fault) -> Leaves {
        let special = Self::SPECIAL.iter().find(|it| it.0 == fault);
        special.map_or_else(|| usual(fault), |it| it.1)
    }

    fn break_by(&self, fault: Fault);

    fn mend(&self);
}

/// A client, the connection that reads its environment, and the service.
pub struct Connected {
    pub folder: Folder,
    pub server: Server,
    pub client: String,
    pub connection: String,
}

/// Waits for the runs that changes of a connection ask for.
pub fn wait_until_idle(folder: &Folder, connection: &str) {
    let is_idle = || {
        let now = shown(folder, connection);
        let next = now["nextRunAt"].as_str().unwrap().parse::<Timestamp>().unwrap();
        Timestamp::now() < next
    };
    assert!(wait_until(Duration::from_mins(1), is_idle));
}

/// What an MSP sees of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    controls: Vec<(String, String)>,
    /// Id, name and status.
    assets: BTreeSet<[String; 3]>,
    /// What is wrong with accounts, controls and the like, and is not put right yet.
    conditions: BTreeSet<String>,
}

impl Connected {
    pub fn shown(&self) -> Value {
        shown(&self.folder, &self.connection)
    }

    pub fn seen(&self) -> Seen {
        let rows = |path: &str| self.folder.ask(path)["data"].as_array().unwrap().clone();
        let text = |it: &Value, name: &str| it[name].as_str().unwrap().to_owned();
        let assets = rows(&format!("/api/v1/clients/{}/assets?limit=100", self.client));
        let assets = assets.iter().map(|it| ["id", "name", "status"].map(|name| text(it, name)));
        let conditions = rows(&format!("/api/conditions?clientId={}&limit=100", self.client));
        let keys = conditions.iter().map(|it| text(it, "dedupKey"));
        let conditions = keys.filter(|it| !it.contains("/connector/")).collect();
        let controls = controls(&self.folder, &self.client);
        Seen { controls, assets: assets.collect(), conditions }
    }

    /// The ids and kinds of all events so far.
    pub fn events(&self) -> BTreeSet<(String, String)> {
        let page = self.folder.ask(&format!("/api/events?clientId={}&limit=1000", self.client));
        assert!(page["next"].is_null() || page["data"].as_array().unwrap().len() < 1_000);
        let all = page["data"].as_array().unwrap().iter();
        let text = |it: &Value, name: &str| it[name].as_str().unwrap().to_owned();
        all.map(|it| (text(it, "id"), text(it, "type"))).collect()
    }
}

impl Seen {
    /// Some controls are met, some are not, and there is something to lose.
    pub fn assert_telling(&self, name: &str) {
        let n = |status: &str| self.controls.iter().filter(|it| it.1 == status).count();
        assert!(0 < n("compliant"), "{name}: {self:?}");
        assert!(0 < n("partial") + n("non_compliant"), "{name}: {self:?}");
    }
}
