//! Devices in one shape, whichever tool reported them, and what a complete list of them says of controls.

mod asset;
mod judge;
mod patch;
mod support;
mod user;

use crate::clock::Time;
use crate::engine::asset::AssetType;

pub use self::asset::assets;
pub use self::judge::judge;
pub use self::user::{ToolUser, judge_users};

/// One device. `None` is unknown, which is neither yes nor no.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Device {
    /// The tool's identifier of it.
    pub id: String,
    /// The tool's identifier of the organization. May be empty.
    pub org: String,
    pub name: String,
    pub hostname: Option<String>,
    /// As the tool reports it, with junk.
    pub serial: Option<String>,
    /// As the tool reports them.
    pub macs: Vec<String>,
    /// As the tool reports it: one address, or several with commas between them.
    pub ip: Option<String>,
    pub kind: Option<AssetType>,
    pub os: Os,
    /// A tool manages it.
    pub managed: Option<bool>,
    /// The tool's agent runs on it. Without one, nothing is known of its software.
    pub agent: Option<bool>,
    pub online: Option<bool>,
    pub last_seen: Option<Last>,
    pub last_boot: Option<Time>,
    pub needs_reboot: Option<bool>,
    /// All anti-malware products on it. Empty: there is none.
    pub antivirus: Option<Vec<Antivirus>>,
    /// How many malware threats are active.
    pub threats: Option<u64>,
    /// All of its fixed disks are encrypted.
    pub encrypted: Option<bool>,
    /// The host firewall is on.
    pub firewall: Option<bool>,
    /// It reports to a detection and response service.
    pub edr: Option<bool>,
    /// It meets the compliance policy of its device manager.
    pub compliant: Option<bool>,
    pub jailbroken: Option<bool>,
    pub os_patches: Patching,
    pub software_patches: Patching,
    /// The last backup that succeeded.
    pub backup: Option<Last>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Os {
    pub name: Option<String>,
    pub version: Option<String>,
    pub build: Option<String>,
}

/// When something last happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Last {
    Never,
    At(Time),
}

/// One anti-malware product on a device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Antivirus {
    pub product: Option<String>,
    /// Real-time protection is on.
    pub running: Option<bool>,
    /// Its definitions are current.
    pub current: Option<bool>,
}

/// What is known of the patches of a device, by a summary or patch by patch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Patching {
    pub state: Option<PatchState>,
    /// All patches that are not installed.
    pub open: Option<Vec<Patch>>,
    /// When the tool last installed one. It shows that patching works at all.
    pub installed: Option<Last>,
}

/// A tool's summary of the patches of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatchState {
    Current,
    /// Some are not installed. For how long is not known.
    Pending,
    /// Some could not be installed.
    Failed,
    /// No policy installs patches.
    NoPolicy,
}

/// One patch that is not installed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Patch {
    pub severity: Option<PatchSeverity>,
    pub status: Option<PatchStatus>,
    /// Since when it could have been installed.
    pub since: Option<Time>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatchSeverity {
    Critical,
    Important,
    Other,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatchStatus {
    Pending,
    Failed,
    /// It is installed, replaced by another, or was rejected on purpose.
    Closed,
}

/// What a source can tell of devices, and was read completely. Nothing is judged by any other fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fact {
    /// The list also has computers that the source does not manage, so that it can show that there are none.
    Unmanaged,
    LastSeen,
    Compliance,
    Encryption,
    Antivirus,
    Threats,
    OsPatches,
    SoftwarePatches,
    Os,
    Reboot,
    Jailbreak,
    Firewall,
    Edr,
    Backup,
}

impl Fact {
    /// The control that it decides.
    #[must_use]
    pub const fn control(self) -> &'static str {
        match self {
            Self::Unmanaged => "END-01",
            Self::LastSeen => "END-02",
            Self::Compliance => "END-03",
            Self::Encryption => "END-04",
            Self::Antivirus => "END-05",
            Self::Threats => "END-06",
            Self::OsPatches => "END-07",
            Self::SoftwarePatches => "END-08",
            Self::Os => "END-09",
            Self::Reboot => "END-10",
            Self::Jailbreak => "END-11",
            Self::Firewall => "END-14",
            Self::Edr => "END-19",
            Self::Backup => "DAT-01",
        }
    }
}
