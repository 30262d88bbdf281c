//! Every vendor with every fault, through the front door: what is read, what the connection says, and that nothing is concluded
//! from what was not read. `-- --nocapture` shows the table.

mod ad;
mod aws;
mod azure;
mod dns;
mod fault;
mod google;
mod layer;
mod m365;
mod table;
pub mod tool;
mod vendor;

use tool::Rmm;

#[test]
fn microsoft_365() {
    table::run::<m365::M365>();
}

#[test]
fn google_workspace() {
    table::run::<google::Workspace>();
}

#[test]
fn azure_secure_score() {
    table::run::<azure::Tenant>();
}

#[test]
fn aws_account() {
    table::run::<aws::Account>();
}

#[test]
fn ninjaone() {
    table::run::<Rmm<tool::NinjaOne>>();
}

#[test]
fn datto_rmm() {
    table::run::<Rmm<tool::Datto>>();
}

#[test]
fn tactical_rmm() {
    table::run::<Rmm<tool::Tactical>>();
}

#[test]
fn huntress() {
    table::run::<Rmm<tool::Huntress>>();
}

#[test]
fn a_mapping_of_our_own() {
    table::run::<Rmm<tool::Own>>();
}

#[test]
fn active_directory() {
    table::run::<ad::Domain>();
}

#[test]
fn domain_names() {
    table::run::<dns::Names>();
}
