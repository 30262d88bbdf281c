//! A few figures that sum up each client.

use bincode::{Decode, Encode};

use crate::engine::framework::FrameworkId;
use crate::layout::read_by_layout;

/// How many devices a client has, without retired ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct DeviceFigures {
    /// Workstations, servers and virtual machines.
    pub computers: u32,
    /// Servers, and virtual machines.
    pub servers: u32,
    pub phones: u32,
    /// Devices that have an address or a name in a network.
    pub addressed: u32,
}

/// One client in figures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode)]
pub struct ClientFigures {
    /// 0 to 100. `None`: there is no score yet.
    pub score: Option<u8>,
    /// Percent of the applicable controls' weight that is assessed.
    pub coverage: u8,
    /// 0 to 100, in the order of [`FrameworkId::CONTRACT`].
    pub readiness: [u8; FrameworkId::CONTRACT.len()],
    /// Open and not accepted, by [`crate::engine::severity::Severity`], least first.
    pub n_risks: [u32; 4],
    /// What all open risks add to the expected loss of a year, in dollars. 0 if it is not known. Releases up to 0.1 stored
    /// the sum over single risks, which the next assessment replaces.
    pub exposure: u64,
    /// Open risks, not accepted, without a dollar impact.
    pub n_unpriced_risks: u32,
    /// Without retired ones, like the next two.
    pub n_assets: u32,
    pub n_critical_assets: u32,
    pub n_unmanaged_assets: u32,
    /// Those still to be done.
    pub n_tasks: u32,
    /// Those of them whose due date was announced as passed.
    pub n_overdue_tasks: u32,
    pub n_failing_sources: u32,
    pub n_silent_sources: u32,
    /// `None`: of a release that did not count them.
    pub devices: Option<DeviceFigures>,
}

read_by_layout!(ClientFigures {
    score, coverage, readiness, n_risks, exposure, n_unpriced_risks, n_assets, n_critical_assets, n_unmanaged_assets, n_tasks,
    n_overdue_tasks, n_failing_sources, n_silent_sources,
} and then { devices });
