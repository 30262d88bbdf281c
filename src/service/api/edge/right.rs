//! Rights as types: the type that a handler takes is the permission that it requires.

use crate::auth::limit::{Operation, Quota, UNLIMITED};
use crate::store::global::key::Scope;
use crate::store::global::user::Role;

/// What the caller of an operation must be allowed to do.
pub trait Right: Send + Sync + 'static {
    /// An API key needs one of these scopes. Empty: API keys are not accepted.
    const SCOPES: &'static [Scope] = &[];
    /// A user needs this role. `None`: what accepts only API keys.
    const ROLE: Option<Role> = None;
    /// An API key that is limited to clients is refused.
    const FOR_ALL_CLIENTS: bool = false;
    /// The operation's own rate limit, instead of the caller's.
    const QUOTA: Option<(Operation, Quota)> = None;
    /// The contract's second group, whose operations have limits of their own and ignore parameters that they do not have.
    const OF_SECOND_GROUP: bool = Self::QUOTA.is_some();
    /// The interface of Prowler, which sends a key as `Authorization: Api-Key`. Its calls count as those of the management API.
    const OF_PROWLER: bool = false;
    /// Allowed for a user who must first replace the initial password, or set up a second factor.
    const BEFORE_SET_UP: bool = false;
}

macro_rules! rights {
    ($($(#[$doc:meta])* $name:ident { $($item:item)* })*) => {
        $(
            $(#[$doc])*
            pub struct $name;

            impl Right for $name {
                $($item)*
            }
        )*
    };
}

const VIEWER: Option<Role> = Some(Role::Viewer);
const ANALYST: Option<Role> = Some(Role::Analyst);
const ADMIN: Option<Role> = Some(Role::Admin);

// The versioned interface.
rights! {
    ReadClients { const SCOPES: &'static [Scope] = &[Scope::ReadClients]; }
    ReadAssets { const SCOPES: &'static [Scope] = &[Scope::ReadAssets]; }
    WriteAssets { const SCOPES: &'static [Scope] = &[Scope::WriteAssets]; }
    ReadScores { const SCOPES: &'static [Scope] = &[Scope::ReadScores]; }
    ReadRisks { const SCOPES: &'static [Scope] = &[Scope::ReadRisks]; }
    ReadCompliance { const SCOPES: &'static [Scope] = &[Scope::ReadCompliance]; }
}

// The interface of Prowler.
rights! {
    PushFindings {
        const SCOPES: &'static [Scope] = &[Scope::WriteAssessments];
        const OF_PROWLER: bool = true;
    }
}

// The management API.
rights! {
    /// Reads what no single scope covers.
    View { const ROLE: Option<Role> = VIEWER; }
    /// Changes what belongs to clients.
    Work { const ROLE: Option<Role> = ANALYST; }
    /// Decides about what belongs to clients: tasks, attestations, requirements, evidence, acceptances.
    Decide {
        const SCOPES: &'static [Scope] = &[Scope::ManageDecisions];
        const ROLE: Option<Role> = ANALYST;
    }
    /// Adds clients, of which a key that is limited to others would see nothing.
    AddClients {
        const SCOPES: &'static [Scope] = &[Scope::ManageClients];
        const ROLE: Option<Role> = ADMIN;
        const FOR_ALL_CLIENTS: bool = true;
    }
    ChangeClients {
        const SCOPES: &'static [Scope] = &[Scope::ManageClients];
        const ROLE: Option<Role> = ADMIN;
    }
    /// Changes the installation.
    Administer { const ROLE: Option<Role> = ADMIN; }
    ViewClients {
        const SCOPES: &'static [Scope] = &[Scope::ReadClients];
        const ROLE: Option<Role> = VIEWER;
    }
    ViewScores {
        const SCOPES: &'static [Scope] = &[Scope::ReadScores];
        const ROLE: Option<Role> = VIEWER;
    }
    ViewRisks {
        const SCOPES: &'static [Scope] = &[Scope::ReadRisks];
        const ROLE: Option<Role> = VIEWER;
    }
    ViewCompliance {
        const SCOPES: &'static [Scope] = &[Scope::ReadCompliance];
        const ROLE: Option<Role> = VIEWER;
    }
    ViewEvents {
        const SCOPES: &'static [Scope] = &[Scope::ReadEvents];
        const ROLE: Option<Role> = VIEWER;
    }
    ViewChanges {
        const SCOPES: &'static [Scope] = &[Scope::ReadEvents, Scope::ReadCompliance];
        const ROLE: Option<Role> = VIEWER;
    }
    ViewConditions {
        const SCOPES: &'static [Scope] = &[Scope::ReadEvents, Scope::ReadRisks];
        const ROLE: Option<Role> = VIEWER;
    }
    ViewPortfolio {
        const SCOPES: &'static [Scope] = &[Scope::ReadPortfolio];
        const ROLE: Option<Role> = VIEWER;
    }
    /// Compares clients in a framework.
    CompareClients {
        const SCOPES: &'static [Scope] = &[Scope::ReadPortfolio, Scope::ReadCompliance];
        const ROLE: Option<Role> = VIEWER;
    }
    ViewExport {
        const SCOPES: &'static [Scope] = &[Scope::ReadExport];
        const ROLE: Option<Role> = VIEWER;
    }
    /// Reads the catalog, which belongs to no client. Any API key may.
    ViewCatalog {
        const SCOPES: &'static [Scope] = &Scope::ALL;
        const ROLE: Option<Role> = VIEWER;
    }
    PushFacts {
        const SCOPES: &'static [Scope] = &[Scope::WriteAssessments];
        const ROLE: Option<Role> = ANALYST;
    }
    AddUser {
        const ROLE: Option<Role> = ADMIN;
        const QUOTA: Option<(Operation, Quota)> =
            Some((Operation::AddUser, [UNLIMITED, 20, UNLIMITED]));
    }
    ViewKpis {
        const SCOPES: &'static [Scope] = &[Scope::ReadPortfolio];
        const ROLE: Option<Role> = VIEWER;
        const QUOTA: Option<(Operation, Quota)> =
            Some((Operation::ShowKpis, [30, UNLIMITED, UNLIMITED]));
    }
    StartScan {
        const SCOPES: &'static [Scope] = &[Scope::WriteAssets];
        const ROLE: Option<Role> = ANALYST;
        const QUOTA: Option<(Operation, Quota)> =
            Some((Operation::StartScan, [UNLIMITED, 10, UNLIMITED]));
    }
    /// Has messages sent in the name of the managed service provider.
    SendReport {
        const ROLE: Option<Role> = ANALYST;
        const QUOTA: Option<(Operation, Quota)> =
            Some((Operation::SendReport, [UNLIMITED, 20, UNLIMITED]));
        const OF_SECOND_GROUP: bool = false;
    }
    CancelScan {
        const SCOPES: &'static [Scope] = &[Scope::WriteAssets];
        const ROLE: Option<Role> = ANALYST;
    }
    /// Reads the status of a scan. A key that may only start scans may too.
    WatchScan {
        const SCOPES: &'static [Scope] = &[Scope::ReadAssets, Scope::WriteAssets];
        const ROLE: Option<Role> = VIEWER;
        const QUOTA: Option<(Operation, Quota)> =
            Some((Operation::WatchScan, [100, UNLIMITED, UNLIMITED]));
    }
    ViewAssets {
        const SCOPES: &'static [Scope] = &[Scope::ReadAssets];
        const ROLE: Option<Role> = VIEWER;
    }
    ViewScanned {
        const ROLE: Option<Role> = VIEWER;
        const QUOTA: Option<(Operation, Quota)> =
            Some((Operation::ViewScanned, [60, UNLIMITED, UNLIMITED]));
    }
    /// What every user may do with the own session.
    OwnSession {
        const ROLE: Option<Role> = VIEWER;
        const BEFORE_SET_UP: bool = true;
    }
}
