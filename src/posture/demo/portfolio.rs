//! The clients of the demonstration. Any resemblance to real companies is accidental.

use serde_json::{Map, Value, json};
use xxhash_rust::xxh3::xxh3_64;

use super::story::Story;

/// Where a client has its mail, files and accounts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Suite {
    Microsoft,
    Google,
}

/// A fictional client.
#[derive(Debug)]
pub(super) struct DemoClient {
    pub(super) name: &'static str,
    pub(super) industry: &'static str,
    pub(super) employees: u32,
    pub(super) suite: Suite,
    pub(super) has_aws: bool,
    /// Those that it must meet.
    pub(super) frameworks: &'static [&'static str],
    pub(super) story: Story,
}

impl DemoClient {
    /// The name's first word in lower case.
    pub(super) fn short(&self) -> String {
        let word = self.name.split(' ').next().unwrap_or_default();
        word.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_lowercase()
    }

    /// In a domain that cannot be registered.
    pub(super) fn domain(&self) -> String {
        format!("{}.example", self.short())
    }

    /// The first three letters, as in the names of machines.
    pub(super) fn prefix(&self) -> String {
        self.short().chars().take(3).collect::<String>().to_uppercase()
    }

    /// The account of the cloud provider.
    pub(super) fn aws_account(&self) -> String {
        format!("{:012}", 100_000_000_000 + self.chance("aws", 800_000_000_000))
    }

    /// A number below `n` that is always the same for this client and key.
    pub(super) fn chance(&self, key: &str, n: u64) -> u64 {
        xxh3_64(format!("{}/{key}", self.name).as_bytes()) % n
    }

    pub(super) fn must_meet(&self, framework: &str) -> bool {
        self.frameworks.contains(&framework)
    }

    /// Small clients and those in Google's cloud have no servers of their own.
    pub(super) const fn has_servers(&self) -> bool {
        25 <= self.employees && matches!(self.suite, Suite::Microsoft)
    }

    /// Its answers to the catalog's profile questions.
    fn is_used(&self, question: &str) -> bool {
        match question {
            "m365" => self.suite == Suite::Microsoft,
            "google" => self.suite == Suite::Google,
            "aws" | "customerWebApps" => self.has_aws,
            "servers" => self.has_servers(),
            "onPremNetwork" | "mobileDevices" => true,
            "softwareDevelopment" => self.industry == "Technology",
            "cardPayments" => self.must_meet("PCI_DSS"),
            "criminalJusticeInformation" => self.must_meet("CJIS"),
            "educationRecords" => self.must_meet("FERPA"),
            _ => false,
        }
    }

    /// Returns true if none of these platforms is used, although there are some.
    pub(super) fn lacks(&self, platforms: &[String]) -> bool {
        !platforms.is_empty() && !platforms.iter().any(|it| self.is_used(it))
    }

    /// What is known of the client when it is added. `mark`: the member that marks a demonstration client.
    pub(super) fn settings(&self, mark: &str) -> Map<String, Value> {
        let answer = |it: &&str| {
            let usage = if self.is_used(it) { "used" } else { "unused" };
            ((*it).to_owned(), Value::from(usage))
        };
        let profile: Map<String, Value> = QUESTIONS.iter().map(answer).collect();
        let mut settings = Map::new();
        settings.insert(mark.to_owned(), true.into());
        settings.insert("profile".to_owned(), profile.into());
        settings.insert("frameworks".to_owned(), json!(self.frameworks));
        settings.insert("sanctionedApps".to_owned(), json!(SANCTIONED_APPS));
        settings
    }
}

const QUESTIONS: [&str; 16] = [
    "m365",
    "google",
    "aws",
    "azure",
    "gcp",
    "kubernetes",
    "otherIdentity",
    "saas",
    "servers",
    "onPremNetwork",
    "mobileDevices",
    "customerWebApps",
    "softwareDevelopment",
    "cardPayments",
    "criminalJusticeInformation",
    "educationRecords",
];

/// What the MSP approves for everyone.
pub(super) const SANCTIONED_APPS: [&str; 6] =
    ["Adobe Acrobat Sign", "DocuSign", "Keeper", "QuickBooks Online", "Slack", "Zoom"];

const HEALTH: &[&str] = &["HIPAA", "NIST_CSF"];
const PHARMACY: &[&str] = &["HIPAA", "PCI_DSS"];
const BANK: &[&str] = &["PCI_DSS", "SOC2", "NIST_CSF"];
const FINANCE: &[&str] = &["SOC2", "NIST_CSF"];
const LEGAL: &[&str] = &["ISO_27001"];
const QUEBEC: &[&str] = &["LOI_25", "PIPEDA"];
const CANADA: &[&str] = &["PIPEDA"];
const MAKER: &[&str] = &["NIST_CSF", "ISO_27001"];
const DEFENSE: &[&str] = &["CMMC_L1", "CMMC_L2"];
const SUPPLIER: &[&str] = &["CMMC_L1", "NIST_CSF"];
const SCHOOL: &[&str] = &["FERPA", "NIST_CSF"];
const POLICE: &[&str] = &["CJIS", "NIST_CSF"];
const CARDS: &[&str] = &["PCI_DSS"];
const GENERAL: &[&str] = &["NIST_CSF"];
const SOFTWARE: &[&str] = &["SOC2", "ISO_27001"];

const fn client(
    name: &'static str,
    industry: &'static str,
    employees: u32,
    frameworks: &'static [&'static str],
    story: Story,
) -> DemoClient {
    let (suite, has_aws) = (Suite::Microsoft, false);
    DemoClient { name, industry, employees, suite, has_aws, frameworks, story }
}

impl DemoClient {
    const fn on_google(mut self) -> Self {
        self.suite = Suite::Google;
        self
    }

    const fn on_aws(mut self) -> Self {
        self.has_aws = true;
        self
    }
}

use Story::{Decays, Falls, Improves, Model, New, Onboarded, Recovers, Silent, Steady};

pub(super) const CLIENTS: [DemoClient; 40] = [
    client("Aldercrest Family Dental", "Healthcare", 22, HEALTH, Improves { from: 18, to: 62 }),
    client("Baypoint Orthopedics", "Healthcare", 64, HEALTH, Steady(72)),
    client("Cedarline Pediatrics", "Healthcare", 31, HEALTH, Decays { from: 62, to: 44 }),
    client("Dunmore Veterinary Group", "Healthcare", 45, CARDS, Steady(60)),
    client("Eastgate Imaging", "Healthcare", 88, HEALTH, Model).on_aws(),
    client("Fairwater Credit Union", "Finance", 120, BANK, Model),
    client("Greenhollow Wealth", "Finance", 18, FINANCE, Steady(80)),
    client(
        "Harrowgate Insurance Brokers",
        "Finance",
        52,
        FINANCE,
        Recovers { from: 72, low: 38, to: 70, week: 14 },
    ),
    client("Ironbridge Accounting", "Finance", 37, FINANCE, Improves { from: 25, to: 66 }),
    client("Juniper Tax Partners", "Finance", 14, GENERAL, Silent { level: 52, week: 17 }),
    client("Kestrel & Moss Attorneys", "Legal", 41, LEGAL, Falls { from: 72, to: 54, week: 22 }),
    client("Larkspur Notaries", "Legal", 9, QUEBEC, Steady(56)).on_google(),
    client("Marlowe Patent Attorneys", "Legal", 26, LEGAL, Model),
    client(
        "Northfield Precision Machining",
        "Manufacturing",
        96,
        SUPPLIER,
        Improves { from: 15, to: 48 },
    ),
    client("Oakhaven Plastics", "Manufacturing", 140, MAKER, Steady(40)),
    client("Pinecroft Defense Components", "Manufacturing", 110, DEFENSE, Model),
    client("Quarrystone Castings", "Manufacturing", 73, GENERAL, Decays { from: 44, to: 22 }),
    client("Redfern Instruments", "Manufacturing", 58, MAKER, Improves { from: 40, to: 84 }),
    client("Silverbirch Foods", "Manufacturing", 150, CARDS, Steady(55)),
    client("Thornbury Logistics", "Transport", 132, MAKER, Improves { from: 24, to: 57 }).on_aws(),
    client("Underhill Freight", "Transport", 67, GENERAL, Falls { from: 54, to: 26, week: 20 }),
    client("Valewood School District", "Education", 145, SCHOOL, Steady(64)),
    client("Westbrook College", "Education", 128, SCHOOL, Improves { from: 34, to: 70 })
        .on_google(),
    client("Yarrow Montessori", "Education", 24, SCHOOL, Steady(50)).on_google(),
    client("Ashdown County Sheriff", "Government", 84, POLICE, Steady(68)),
    client(
        "Brookmere Town Council",
        "Government",
        39,
        GENERAL,
        Recovers { from: 50, low: 18, to: 63, week: 11 },
    ),
    client("Coldwater Fire District", "Government", 47, GENERAL, Silent { level: 45, week: 19 }),
    client("Dovecote Hotels", "Hospitality", 115, CARDS, Improves { from: 10, to: 52 }),
    client("Elmstead Catering", "Hospitality", 29, CARDS, Onboarded(40)).on_google(),
    client("Foxglove Garden Centers", "Retail", 92, CARDS, Steady(52)).on_google(),
    client("Glenrowan Outfitters", "Retail", 61, CARDS, Improves { from: 30, to: 67 }).on_aws(),
    client("Hazelmount Pharmacies", "Retail", 78, PHARMACY, Steady(70)),
    client("Inverleith Architects", "Construction", 33, CANADA, Decays { from: 78, to: 55 }),
    client("Jasperfield Builders", "Construction", 54, GENERAL, Steady(24)),
    client("Kingsmere Surveyors", "Construction", 21, GENERAL, New),
    client("Lochside Hydro", "Energy", 49, MAKER, Steady(57)),
    client("Meadowlark Solar", "Energy", 36, GENERAL, Improves { from: 45, to: 80 }).on_aws(),
    client("Nettlecombe Charity", "Nonprofit", 17, CANADA, Steady(50)).on_google(),
    client("Ormsby Hospice", "Nonprofit", 70, HEALTH, Onboarded(60)),
    client("Pemberton Robotics", "Technology", 43, SOFTWARE, Model).on_aws(),
];
