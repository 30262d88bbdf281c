//! Which column of a list is what.

use std::collections::{BTreeMap, HashMap};

use super::Kind;
use crate::error::{Error, Result};

/// Longer names of columns are refused.
const COLUMN_CHARS_MAX: usize = 200;

/// What columns of people who left are called: see [`Field::usual_names`].
const EMAIL: &[&str] = &[
    "email",
    "emailaddress",
    "workemail",
    "workemailaddress",
    "companyemail",
    "primaryworkemail",
    "businessemail",
    "mail",
];
const LOGIN: &[&str] = &[
    "userprincipalname",
    "upn",
    "login",
    "loginname",
    "username",
    "samaccountname",
    "accountname",
    "user",
];
const EMPLOYEE: &[&str] =
    &["employeeid", "employeenumber", "employeeno", "personnelnumber", "staffid", "workerid"];
const LAST_DAY: &[&str] = &[
    "lastday",
    "lastworkingday",
    "lastworkday",
    "lastdayofwork",
    "lastdayworked",
    "terminationdate",
    "dateofleaving",
    "leavedate",
    "leavingdate",
    "exitdate",
    "departuredate",
    "separationdate",
    "employeeleavedatetime",
    "enddate",
];

/// What a column can say of an asset, or of a person who left.
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
    Email,
    Login,
    Employee,
    LastDay,
}

impl Field {
    pub const ALL: [Self; 18] = [
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
        Self::Email,
        Self::Login,
        Self::Employee,
        Self::LastDay,
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
            Self::Email => "email",
            Self::Login => "login",
            Self::Employee => "employee",
            Self::LastDay => "last-day",
        }
    }

    /// The rows that can have it.
    #[must_use]
    pub const fn kind(self) -> Kind {
        match self {
            Self::Id
            | Self::Name
            | Self::Type
            | Self::Os
            | Self::Hostname
            | Self::Ip
            | Self::Mac
            | Self::Serial
            | Self::Owner
            | Self::Description
            | Self::Tags
            | Self::Critical
            | Self::Managed
            | Self::Seen => Kind::Assets,
            Self::Email | Self::Login | Self::Employee | Self::LastDay => Kind::Leavers,
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
            Self::Email => EMAIL,
            Self::Login => LOGIN,
            Self::Employee => EMPLOYEE,
            Self::LastDay => LAST_DAY,
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

    /// The named columns of rows of a kind. The same source may also send lists of another one.
    pub(super) fn named(&self, kind: Kind) -> impl Iterator<Item = &str> {
        let named = self.0.iter().filter(move |it| it.0.kind() == kind);
        named.map(|it| it.1.as_str()).filter(|it| !it.is_empty())
    }

    /// # Errors
    /// `Invalid` if rows of this kind do not have one of the fields.
    pub fn require(&self, kind: Kind) -> Result<()> {
        let Some(other) = self.0.keys().find(|it| it.kind() != kind) else { return Ok(()) };
        let fields = Field::ALL.into_iter().filter(|it| it.kind() == kind);
        let fields: Vec<&str> = fields.map(Field::as_str).collect();
        Err(Error::invalid(format!(
            "the list is one of {} and has no field {}; a column of it can be {}",
            kind.noun(),
            other.as_str(),
            fields.join(", ")
        )))
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
