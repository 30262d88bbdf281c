//! Every vendor with every fault, through the front door: what is read, what the connection says, and that nothing is concluded
//! from what was not read. `-- --nocapture` shows the table.

mod fault;
mod layer;
mod m365;
mod table;
mod vendor;

#[test]
fn microsoft_365() {
    table::run::<m365::M365>();
}
