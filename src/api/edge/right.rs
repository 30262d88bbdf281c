//! Rights, as types: the type that a handler asks for is the permission that it needs.

use crate::auth::limit::{Operation, Quota, UNLIMITED};
use crate::store::global::key::Scope;
use crate::store::global::user::Role;

/// What a handler's caller must be allowed, as a type.
pub trait Right: Send + Sync + 'static {
    /// An API key needs one of these. Empty: a key does not do.
    const SCOPES: &'static [Scope] = &[];
    /// A user needs this role. `None`: the versioned interface, which takes keys alone.
    const ROLE: Option<Role> = None;
    /// The operation's own limit, in place of the caller's.
    const QUOTA: Option<(Operation, Quota)> = None;
    /// Open to who has to replace a password first.
    const BEFORE_NEW_PASSWORD: bool = false;
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

// The management API.
rights! {
    /// Looks at what no single scope stands for.
    View { const ROLE: Option<Role> = VIEWER; }
    /// Works on clients.
    Work { const ROLE: Option<Role> = ANALYST; }
    /// Works on the installation.
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
    /// The catalogue is no client's: any key does.
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
    CancelScan {
        const SCOPES: &'static [Scope] = &[Scope::WriteAssets];
        const ROLE: Option<Role> = ANALYST;
    }
    /// Looks how a scan goes: also whoever may start one alone.
    WatchScan {
        const SCOPES: &'static [Scope] = &[Scope::ReadAssets, Scope::WriteAssets];
        const ROLE: Option<Role> = VIEWER;
        const QUOTA: Option<(Operation, Quota)> =
            Some((Operation::WatchScan, [100, UNLIMITED, UNLIMITED]));
    }
    ViewScans {
        const SCOPES: &'static [Scope] = &[Scope::ReadAssets];
        const ROLE: Option<Role> = VIEWER;
    }
    ViewScanned {
        const ROLE: Option<Role> = VIEWER;
        const QUOTA: Option<(Operation, Quota)> =
            Some((Operation::ViewScanned, [60, UNLIMITED, UNLIMITED]));
    }
    /// What everybody may do with the own session.
    OwnSession {
        const ROLE: Option<Role> = VIEWER;
        const BEFORE_NEW_PASSWORD: bool = true;
    }
}
