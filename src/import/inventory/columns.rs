//! Which column of a list is what.

use std::collections::{BTreeMap, HashMap};

use crate::error::{Error, Result};

/// Longer names of columns are refused.
const COLUMN_CHARS_MAX: usize = 200;

/// What a column can say of an asset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Field {
    Id,
    Name,
    Type,
    Os,
    Hostname,
    Ip,
    Mac,
    Serial,
    Owner,
    Description,
    Tags,
    Critical,
    Managed,
    Seen,
}

impl Field {
    pub const ALL: [Self; 14] = [
        Self::Id,
        Self::Name,
        Self::Type,
        Self::Os,
        Self::Hostname,
        Self::Ip,
        Self::Mac,
        Self::Serial,
        Self::Owner,
        Self::Description,
        Self::Tags,
        Self::Critical,
        Self::Managed,
        Self::Seen,
    ];

    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Id => "id",
            Self::Name => "name",
            Self::Type => "type",
            Self::Os => "os",
            Self::Hostname => "hostname",
            Self::Ip => "ip",
            Self::Mac => "mac",
            Self::Serial => "serial",
            Self::Owner => "owner",
            Self::Description => "description",
            Self::Tags => "tags",
            Self::Critical => "critical",
            Self::Managed => "managed",
            Self::Seen => "seen",
        }
    }

    /// What known tools call the column, in lower case and with letters and digits alone. The first that a list has counts.
    const fn usual_names(self) -> &'static [&'static str] {
        match self {
            Self::Id => &["assettag", "assetid", "deviceid", "systemid", "externalid", "uid", "id"],
            Self::Name => &[
                "name",
                "assetname",
                "devicename",
                "itemname",
                "computername",
                "systemname",
                "displayname",
            ],
            Self::Type => &["type", "assettype", "devicetype", "nodeclass", "class", "category"],
            Self::Os => &["os", "operatingsystem", "osname", "osplatform", "platform"],
            Self::Hostname => &["hostname", "hostnames", "fqdn", "dnsname", "netbiosname"],
            Self::Ip => &[
                "ip",
                "ipaddress",
                "ipv4address",
                "primaryip",
                "privateip",
                "lanip",
                "intipaddress",
            ],
            Self::Mac => &[
                "mac",
                "macaddress",
                "macaddresses",
                "ethernetmacaddress",
                "ethernetmac",
                "wifimacaddress",
                "wifimac",
            ],
            Self::Serial => &["serial", "serialnumber", "servicetag"],
            Self::Owner => &[
                "owner",
                "assignedto",
                "primaryuserupn",
                "primaryuser",
                "checkedouttousername",
                "lastuser",
                "lastloggedinuser",
                "username",
                "user",
            ],
            Self::Description => &["description", "notes", "assetnotes", "comment", "comments"],
            Self::Tags => &["tags", "labels"],
            Self::Critical => &["critical", "iscritical"],
            Self::Managed => &["managed", "ismanaged"],
            Self::Seen => {
                &["lastseen", "lastcheckin", "lastcontact", "lastcheckindate", "lastsync"]
            }
        }
    }
}

/// Which columns of the lists of a source are what. An empty name: no column is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Columns(BTreeMap<Field, String>);

impl Columns {
    /// Reads pairs of a field and a column.
    ///
    /// # Errors
    /// `Invalid` for an unknown field, or a name that is too long.
    pub fn of(pairs: &[(String, String)]) -> Result<Self> {
        let mut all = BTreeMap::new();
        for (field, column) in pairs {
            let Some(known) = Field::ALL.into_iter().find(|it| it.as_str() == field.trim()) else {
                let known = Field::ALL.map(Field::as_str).join(", ");
                return Err(Error::invalid(format!(
                    "unknown field {}; a column can be {known}",
                    crate::text::line(field, 40)
                )));
            };
            if COLUMN_CHARS_MAX < column.chars().count() {
                return Err(Error::invalid(format!(
                    "the name of a column is longer than {COLUMN_CHARS_MAX} characters"
                )));
            }
            all.insert(known, column.trim().to_owned());
        }
        Ok(Self(all))
    }

    /// The named columns.
    pub(super) fn named(&self) -> impl Iterator<Item = &str> {
        self.0.values().map(String::as_str).filter(|it| !it.is_empty())
    }
}

/// The columns of a list by their names, and by their names in lower case with letters and digits alone. Of columns with one name,
/// the first counts.
pub(super) struct Names<'a> {
    exact: HashMap<&'a str, usize>,
    plain: HashMap<String, usize>,
}

impl<'a> Names<'a> {
    pub(super) fn of(header: &'a [String]) -> Self {
        let (mut exact, mut plain) = (HashMap::new(), HashMap::new());
        for (place, name) in header.iter().enumerate() {
            exact.entry(name.trim()).or_insert(place);
            let letters = name.chars().filter(|it| it.is_alphanumeric());
            let letters: String = letters.flat_map(char::to_lowercase).collect();
            plain.entry(letters).or_insert(place);
        }
        Self { exact, plain }
    }

    pub(super) fn has(&self, column: &str) -> bool {
        self.exact.contains_key(column)
    }

    /// The column that a field is in.
    pub(super) fn place(&self, field: Field, columns: &Columns) -> Option<usize> {
        if let Some(named) = columns.0.get(&field) {
            return self.exact.get(&**named).copied();
        }
        field.usual_names().iter().find_map(|it| self.plain.get(*it).copied())
    }
}
