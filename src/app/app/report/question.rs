//! What a client is asked about what it uses, in words of both languages.

use crate::paper::Language;

/// A question of a client's profile.
pub struct Question {
    /// As the API has it.
    pub name: &'static str,
    pub english: &'static str,
    french: &'static str,
}

const fn question(name: &'static str, english: &'static str, french: &'static str) -> Question {
    Question { name, english, french }
}

pub const QUESTIONS: [Question; 18] = [
    question("m365", "Microsoft 365", "Microsoft 365"),
    question("google", "Google Workspace", "Google Workspace"),
    question("otherIdentity", "Another identity provider", "Un autre fournisseur d’identité"),
    question("aws", "AWS", "AWS"),
    question("azure", "Azure", "Azure"),
    question("gcp", "Google Cloud", "Google Cloud"),
    question("kubernetes", "Kubernetes", "Kubernetes"),
    question("saas", "Other cloud applications", "D’autres applications infonuagiques"),
    question("onPremNetwork", "A network of its own", "Un réseau sur place"),
    question("mobileDevices", "Mobile devices", "Des appareils mobiles"),
    question("servers", "Servers", "Des serveurs"),
    question(
        "customerWebApps",
        "Web applications for customers",
        "Des applications web pour la clientèle",
    ),
    question("softwareDevelopment", "Software development", "Le développement de logiciels"),
    question("cardPayments", "Card payments", "Les paiements par carte"),
    question(
        "criminalJusticeInformation",
        "Criminal justice information",
        "Des renseignements de justice pénale",
    ),
    question("educationRecords", "Education records", "Des dossiers scolaires"),
    question(
        "paymentServiceProvider",
        "Card payments handled for other companies",
        "Les paiements par carte traités pour d’autres entreprises",
    ),
    question("creditReports", "Credit reports about people", "Des dossiers de crédit"),
];

/// The words of a question, or its name if it is none of these.
pub(super) fn in_words(name: &str, language: Language) -> &str {
    let found = QUESTIONS.iter().find(|it| it.name == name);
    found.map_or(name, |it| match language {
        Language::English => it.english,
        Language::French => it.french,
    })
}
