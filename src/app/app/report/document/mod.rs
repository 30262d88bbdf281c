//! Signed documents about clients for people, in English and in French.

mod client;
mod contradiction;
mod detail;
mod framework;
pub(in crate::app::report) mod language;
mod portfolio;
mod portfolio_standing;
pub mod signing;
mod standing;
mod subject;
mod summary;
mod wording;

use std::sync::Arc;

use crate::app::App;
use crate::auth::caller::Caller;
use crate::blocking;
use crate::clock::Time;
use crate::clock::zone::Zone;
use crate::engine::framework::FrameworkId;
use crate::error::Result;
use crate::id::ClientId;
use crate::paper::signature::{Comment, OF_HTML, OF_PDF, PublicKey, SigningKey};
use crate::paper::{Block, Language, Logo, Paper, html, pdf};
use crate::store::ClientSnapshot;
use language::{date, minute, say};

/// Stands for the name of who hands documents out, if the configuration does not say it.
const NAMELESS: &str = "Posture";

/// What documents say of the managed service provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Letterhead {
    pub name: Option<String>,
    pub logo: Option<Arc<Logo>>,
    /// Of documents whose reader did not ask for one.
    pub language: Language,
}

impl Default for Letterhead {
    fn default() -> Self {
        Self { name: None, logo: None, language: Language::English }
    }
}

/// A document that is written and signed.
pub struct Document {
    /// Its title and its subject, in its language.
    pub name: String,
    /// What it is about: the name of the client, or how many there are.
    pub subject: String,
    pub author: String,
    /// Its summary, in sentences.
    pub summary: Vec<String>,
    pub content: Vec<u8>,
}

/// What a document is about, and who hands it out when.
struct Front<'a> {
    language: Language,
    letterhead: &'a Letterhead,
    now: Time,
    zone: &'a Zone,
    title: String,
    subject: String,
    /// Lines below the title, before those that every document has.
    details: Vec<String>,
}

impl Front<'_> {
    /// The document with these blocks. It ends with how to check its signature.
    fn paper(self, mut blocks: Vec<Block>, key: PublicKey) -> Paper {
        let Self { language, letterhead, now, zone, title, subject, mut details } = self;
        let at = minute(language, zone, now);
        details.push(say!(language, "As of {at}", "En date du {at}"));
        details.push(match &letterhead.name {
            Some(provider) => say!(language, "Prepared by {provider}", "Préparé par {provider}"),
            None => say!(language, "Prepared with {NAMELESS}", "Préparé avec {NAMELESS}"),
        });
        let author = letterhead.name.clone().unwrap_or_else(|| NAMELESS.to_owned());
        blocks.extend(detail::signature(language, &author, key));
        Paper {
            language,
            title,
            subject,
            author,
            details,
            created: now,
            date: date(language, zone, now),
            logo: letterhead.logo.clone(),
            blocks,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DocumentFormat {
    Html,
    Pdf,
}

impl DocumentFormat {
    fn write(self, paper: &Paper) -> Result<(Vec<u8>, Comment)> {
        match self {
            Self::Html => Ok((html::write(paper), OF_HTML)),
            Self::Pdf => Ok((pdf::write(paper)?, OF_PDF)),
        }
    }
}

impl App {
    /// Writes the report about a client and signs it. `language`: `None` is that of the configuration.
    ///
    /// # Errors
    /// `Forbidden` or `NotFound` for the client; those of [`App::signing_key`].
    pub async fn posture_document(
        self: &Arc<Self>,
        caller: &Caller,
        id: ClientId,
        format: DocumentFormat,
        language: Option<Language>,
    ) -> Result<Document> {
        let (client, rows) = self.reach_any(caller, id)?;
        let since = self.clock.now().plus_days(-standing::QUARTER_DAYS);
        let changes = self.changes_since(caller, id, since).await?;
        let key = self.signing_key().await?;
        let app = Arc::clone(self);
        let write = move |snapshot: &ClientSnapshot| {
            let letterhead = &app.letterhead();
            let language = language.unwrap_or(letterhead.language);
            let standing = app.client_standing(snapshot, client, &changes, language)?;
            let paper = client::paper(&standing, letterhead, language, key.public_key());
            signed(paper, summary::sentences(language, &standing), format, &key)
        };
        rows.read(write).await
    }

    /// Writes the report about a client and a framework and signs it. `language`: `None` is that of the configuration.
    ///
    /// # Errors
    /// As [`App::posture_document`]; `NotFound` for the framework.
    pub async fn framework_document(
        self: &Arc<Self>,
        caller: &Caller,
        (id, framework): (ClientId, FrameworkId),
        format: DocumentFormat,
        language: Option<Language>,
    ) -> Result<Document> {
        let (client, rows) = self.reach_any(caller, id)?;
        let key = self.signing_key().await?;
        let app = Arc::clone(self);
        let write = move |snapshot: &ClientSnapshot| {
            let report = app.framework_report(snapshot, client, framework)?;
            let sources = standing::sources(snapshot)?;
            let letterhead = &app.letterhead();
            let language = language.unwrap_or(letterhead.language);
            let contradicted =
                contradiction::named(language, &app.catalog(), report.contradictions.clone());
            let facts = (&report, sources.as_slice(), contradicted.as_slice());
            let paper = framework::paper(facts, letterhead, language, key.public_key());
            signed(paper, vec![framework::sentence(language, &report)], format, &key)
        };
        rows.read(write).await
    }

    /// Writes the report about the active clients that the caller may access and signs it. `language`: `None` is that of
    /// the configuration.
    ///
    /// # Errors
    /// `Conflict` if there are too many clients; those of [`App::signing_key`].
    pub async fn portfolio_document(
        self: &Arc<Self>,
        caller: &Caller,
        format: DocumentFormat,
        language: Option<Language>,
    ) -> Result<Document> {
        let key = self.signing_key().await?;
        let _turn = self.portfolio_turn().await?;
        let standing = self.portfolio_standing(caller).await?;
        let letterhead = self.letterhead();
        let language = language.unwrap_or(letterhead.language);
        let write = move || {
            let paper = portfolio::paper(&standing, &letterhead, language, key.public_key());
            signed(paper, portfolio::sentences(language, &standing), format, &key)
        };
        blocking::run((), write).await
    }
}

fn signed(
    paper: Paper,
    summary: Vec<String>,
    format: DocumentFormat,
    key: &SigningKey,
) -> Result<Document> {
    let (mut content, comment) = format.write(&paper)?;
    key.sign(&mut content, comment, &paper.author, paper.created);
    let name = paper.name();
    Ok(Document { name, subject: paper.subject, author: paper.author, summary, content })
}
