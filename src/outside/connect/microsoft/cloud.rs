//! Microsoft's clouds, each with hosts of its own.

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cloud {
    #[default]
    Global,
    UsGov,
    UsDod,
    China,
}

impl Cloud {
    pub const ALL: [Self; 4] = [Self::Global, Self::UsGov, Self::UsDod, Self::China];

    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.as_str() == word)
    }

    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Global => "global",
            Self::UsGov => "us_gov",
            Self::UsDod => "us_dod",
            Self::China => "china",
        }
    }

    #[must_use]
    pub const fn login(self) -> &'static str {
        match self {
            Self::Global => "https://login.microsoftonline.com",
            Self::UsGov | Self::UsDod => "https://login.microsoftonline.us",
            Self::China => "https://login.chinacloudapi.cn",
        }
    }

    /// Where the browser ends after a consent. Nothing listens there.
    #[must_use]
    pub fn redirect_uri(self) -> String {
        format!("{}/common/oauth2/nativeclient", self.login())
    }

    /// Where apps are registered.
    #[must_use]
    pub const fn portal(self) -> &'static str {
        match self {
            Self::Global => "https://entra.microsoft.com",
            Self::UsGov | Self::UsDod => "https://entra.microsoft.us",
            Self::China => "https://entra.microsoftonline.cn",
        }
    }

    #[must_use]
    pub const fn graph(self) -> &'static str {
        match self {
            Self::Global => "https://graph.microsoft.com",
            Self::UsGov => "https://graph.microsoft.us",
            Self::UsDod => "https://dod-graph.microsoft.us",
            Self::China => "https://microsoftgraph.chinacloudapi.cn",
        }
    }

    /// Exchange Online.
    #[must_use]
    pub const fn outlook(self) -> &'static str {
        match self {
            Self::Global => "https://outlook.office365.com",
            Self::UsGov => "https://outlook.office365.us",
            Self::UsDod => "https://outlook-dod.office365.us",
            Self::China => "https://partner.outlook.cn",
        }
    }

    #[must_use]
    pub const fn management(self) -> &'static str {
        match self {
            Self::Global => "https://management.azure.com",
            Self::UsGov | Self::UsDod => "https://management.usgovcloudapi.net",
            Self::China => "https://management.chinacloudapi.cn",
        }
    }
}
