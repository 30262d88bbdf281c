//! The clients of the demonstration. Any resemblance to real companies is accidental.

/// A fictional client.
#[derive(Debug)]
pub(super) struct DemoProfile {
    pub(super) name: &'static str,
    pub(super) industry: &'static str,
    pub(super) employees: u32,
    /// The share of checks that pass in the first week, in percent.
    pub(super) maturity: u8,
    /// How much that share grows in ten weeks, in percent.
    pub(super) effort: u8,
}

impl DemoProfile {
    /// The name's first word in lower case.
    #[must_use]
    pub(super) fn short(&self) -> String {
        let word = self.name.split(' ').next().unwrap_or_default();
        word.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_lowercase()
    }

    /// In a domain that cannot be registered.
    #[must_use]
    pub(super) fn domain(&self) -> String {
        format!("{}.example", self.short())
    }
}

const fn client(
    name: &'static str,
    industry: &'static str,
    employees: u32,
    maturity: u8,
    effort: u8,
) -> DemoProfile {
    DemoProfile { name, industry, employees, maturity, effort }
}

pub(super) const CLIENTS: [DemoProfile; 40] = [
    client("Aldercrest Family Dental", "Healthcare", 22, 41, 9),
    client("Baypoint Orthopaedics", "Healthcare", 64, 55, 6),
    client("Cedarline Paediatrics", "Healthcare", 31, 48, 8),
    client("Dunmore Veterinary Group", "Healthcare", 45, 37, 5),
    client("Eastgate Imaging", "Healthcare", 88, 62, 7),
    client("Fairwater Credit Union", "Finance", 120, 74, 6),
    client("Greenhollow Wealth", "Finance", 18, 69, 4),
    client("Harrowgate Insurance Brokers", "Finance", 52, 58, 8),
    client("Ironbridge Accounting", "Finance", 37, 51, 9),
    client("Juniper Tax Partners", "Finance", 14, 44, 3),
    client("Kestrel & Moss Solicitors", "Legal", 41, 57, 7),
    client("Larkspur Notaries", "Legal", 9, 46, 2),
    client("Marlowe Patent Attorneys", "Legal", 26, 66, 5),
    client("Northfield Precision Machining", "Manufacturing", 96, 39, 10),
    client("Oakhaven Plastics", "Manufacturing", 140, 33, 6),
    client("Pinecroft Defence Components", "Manufacturing", 110, 71, 9),
    client("Quarrystone Castings", "Manufacturing", 73, 29, 4),
    client("Redfern Instruments", "Manufacturing", 58, 61, 8),
    client("Silverbirch Foods", "Manufacturing", 150, 42, 5),
    client("Thornbury Logistics", "Transport", 132, 47, 6),
    client("Underhill Freight", "Transport", 67, 36, 7),
    client("Valewood School District", "Education", 145, 52, 6),
    client("Westbrook College", "Education", 128, 59, 5),
    client("Yarrow Montessori", "Education", 24, 40, 4),
    client("Ashdown County Sheriff", "Government", 84, 64, 7),
    client("Brookmere Town Council", "Government", 39, 49, 6),
    client("Coldwater Fire District", "Government", 47, 45, 3),
    client("Dovecote Hotels", "Hospitality", 115, 34, 5),
    client("Elmstead Catering", "Hospitality", 29, 31, 2),
    client("Foxglove Garden Centres", "Retail", 92, 38, 6),
    client("Glenrowan Outfitters", "Retail", 61, 43, 7),
    client("Hazelmount Pharmacies", "Retail", 78, 60, 6),
    client("Inverleith Architects", "Construction", 33, 56, 5),
    client("Jasperfield Builders", "Construction", 54, 32, 4),
    client("Kingsmere Surveyors", "Construction", 21, 50, 3),
    client("Lochside Marine", "Energy", 49, 53, 6),
    client("Meadowlark Solar", "Energy", 36, 65, 8),
    client("Nettlecombe Charity", "Nonprofit", 17, 35, 5),
    client("Ormsby Hospice", "Nonprofit", 70, 54, 7),
    client("Pemberton Robotics", "Technology", 43, 78, 8),
];
