//! Devices that Intune manages.

use super::field::row;

row! {
    /// Of `/deviceManagement/managedDevices`.
    ManagedDevice {
        id: Option<String>,
        device_name: Option<String>,
        operating_system: Option<String>,
        os_version: Option<String>,
        compliance_state: Option<String>,
        is_encrypted: Option<bool>,
        jail_broken: Option<String>,
        last_sync_date_time: Option<String>,
        serial_number: Option<String>,
        ethernet_mac_address: Option<String>,
        wi_fi_mac_address: Option<String>,
    }

    /// Of `/deviceManagement/deviceCompliancePolicies`.
    CompliancePolicy {
        id: Option<String>,
        /// Says which systems it is for.
        #[serde(rename = "@odata.type")]
        odata_type: Option<String>,
    }
}
