//! What a client is asked about what it uses, in words.

/// The questions of a client's profile, by their names in the API.
pub(super) const QUESTIONS: [(&str, &str); 16] = [
    ("m365", "Microsoft 365"),
    ("google", "Google Workspace"),
    ("otherIdentity", "Another identity provider"),
    ("aws", "AWS"),
    ("azure", "Azure"),
    ("gcp", "Google Cloud"),
    ("kubernetes", "Kubernetes"),
    ("saas", "Other cloud applications"),
    ("onPremNetwork", "A network of its own"),
    ("mobileDevices", "Mobile devices"),
    ("servers", "Servers"),
    ("customerWebApps", "Web applications for customers"),
    ("softwareDevelopment", "Software development"),
    ("cardPayments", "Card payments"),
    ("criminalJusticeInformation", "Criminal justice information"),
    ("educationRecords", "Education records"),
];

/// A reason that begins with the name of a question, as in `aws: used or not?`, with its words in place of the name.
pub(super) fn in_words(reason: &str) -> String {
    let asked = reason.split_once(':').and_then(|(name, rest)| {
        let question = QUESTIONS.iter().find(|it| it.0 == name)?;
        Some(format!("{}:{rest}", question.1))
    });
    asked.unwrap_or_else(|| reason.to_owned())
}
