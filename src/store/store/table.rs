//! All tables: name, key, value, and invariant.
//!
//! Keys and values are bytes; a value is an [`crate::store::kernel::envelope`] around one record. Per-client
//! tables are named `<client uuid>/<noun>` and created on first write. Each takes at least a page, so
//! there are only five, and kinds of rows share one by their key's first byte.

use crate::id::ClientId;

/// A part of a client that has pages of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::store) enum ClientPart {
    Profile,
    Inventory,
    Posture,
}

/// A table that every client has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PerClient {
    noun: &'static str,
    /// The part of the client that a write to it changes.
    pub(super) part: ClientPart,
}

impl PerClient {
    pub(super) fn name(self, client: ClientId) -> String {
        format!("{client}/{}", self.noun)
    }

    pub(super) fn noun(self) -> &'static str {
        self.noun
    }

    /// The client and the noun of a table's name. `None`: it is a global table.
    pub(super) fn parse(name: &str) -> Option<(ClientId, &str)> {
        let (client, noun) = name.split_once('/')?;
        Some((client.parse().ok()?, noun))
    }
}

/// Assets.
///
/// Key: asset id. Value: [`crate::engine::asset::Asset`].
/// Invariant: has a row in [`ASSET_CLIENTS`], one in [`EXTERNAL`] by its source's name, and one
/// there by each of its identifiers. Maintained by `asset.rs`.
pub(super) const ASSETS: PerClient = PerClient { noun: "assets", part: ClientPart::Inventory };

/// The names and identifiers by which assets are found.
///
/// Key: [`EXTERNAL_NAME`], source, external id. Value: asset id. Several names may lead to one asset.
/// Key: a kind from [`EXTERNAL_SERIAL`] on, the identifier in lower case, asset id. Value: nothing. Of one that is new, the day
/// when it was seen first; of one that is stale, no identifier. Key: [`EXTERNAL_SINCE`], source. Value: when it pushed one first.
/// Invariant: the asset exists. Maintained by `asset.rs`.
pub(super) const EXTERNAL: PerClient = PerClient { noun: "external", part: ClientPart::Inventory };
pub(super) const EXTERNAL_NAME: u8 = 1;
pub(super) const EXTERNAL_SERIAL: u8 = 2;
pub(super) const EXTERNAL_MAC: u8 = 3;
pub(super) const EXTERNAL_HOSTNAME: u8 = 4;
pub(super) const EXTERNAL_IP: u8 = 5;
pub(super) const EXTERNAL_NEW: u8 = 6;
pub(super) const EXTERNAL_STALE: u8 = 7;
pub(super) const EXTERNAL_SINCE: u8 = 8;

/// Observations and statements about a client, and where they came from.
///
/// Key: [`FACT_VERSION`]. Value: u64, moved by every ingest that changes what an assessment reads.
/// Key: [`FACT_OBSERVATION`], subject, source, scope, check, observed at (falling), import. Value: `Observation`.
/// Key: [`FACT_ATTESTATION`], control code. Value: `Attested`. Key: [`FACT_DECISION`], framework, reference. Value: `RowDecision`.
/// Key: [`FACT_IMPORT`], at (falling), import. Value: `Import`.
/// Key: [`FACT_IMPORT_TIME`], import. Value: its time. Invariant: one for each import.
/// Key: [`FACT_IMPORT_DIGEST`], digest, at (falling), import. Value: nothing. Invariant: one for each import.
/// Key: [`FACT_IMPORT_CHANGE`], import. Value: `PostureChange`. Invariant: the import is there. None for those of earlier releases.
/// Key: [`FACT_IMPORT_AGE`], import. Value: `ImportAge`. Invariant: the import is there. None for those of earlier releases.
/// Key: [`FACT_IMPORT_COUNT`]. Value: u64, how many imports there are. Written with the first import of this release.
/// Key: [`FACT_SOURCE`], source, scope. Value: `Source`.
/// Key: [`FACT_EVIDENCE`], evidence id. Value: `Evidence`.
/// Key: [`FACT_EVIDENCE_SOURCE`], evidence id. Value: `EvidenceSource`. None for evidence that a person added.
/// Key: [`FACT_MEMBER`], source, scope, part, id. Value: `Identity`, `AppUse`, or an asset's external id.
/// Key: [`FACT_PART`], source, scope, part. Value: `Reads`.
/// Key: [`FACT_READ`], source, scope, whether it is of accounts, at (falling), import. Value: `CompleteRead`.
/// Key: [`FACT_LIST`], source, scope, at (falling), arrived at (falling), import, number. Value: `AccountRows`.
/// Key: [`FACT_SCAN`], system, source, at (falling), number, import. Value: `ScanRow`, a part of what one scan found.
/// Key: [`FACT_COLUMNS`], source. Value: pairs of a field and the name of its column.
/// Key: [`FACT_LEAVER`], source, at (falling), arrived at (falling), import, number. Value: `LeaverRow`, a part of a list.
/// Key: [`FACT_EVIDENCE_FILE`], evidence id. Value: `EvidenceFile`. Without its entry in the register: it broke off while it arrived.
/// Key: [`FACT_EVIDENCE_PART`], evidence id, number. Value: bytes. Invariant: the file is there.
/// Key: [`FACT_HEALTH`], source. Value: `SourceHealth`.
/// Key: [`FACT_RUN`], import. Value: `RunRecord`. Until the run is finished.
/// Key: [`FACT_STEP`], import, number. Value: `Step`. Invariant: the run is there.
/// Key: [`FACT_UNCOUNTED`], import. Value: nothing. Invariant: the run is there.
/// Key: [`FACT_STATEMENT`], number (falling). Value: `StatementRecord`. Never changed; removed once what it says ended long ago.
/// Key: [`FACT_STATEMENT_TOPIC`], topic, number (falling). Value: nothing. Invariant: one for each record. [`FACT_ATTESTATION`],
/// [`FACT_DECISION`], acceptances and the profile hold what the records say that counts. Maintained by `log.rs`.
/// Key: [`FACT_STATEMENT_STANDING`], topic. Value: u64, the number of the statement that counts until it expires. None: none does.
/// Key: [`FACT_STATEMENT_COUNT`]. Value: u64, the number of the newest record. None: the log has not begun.
/// Key: [`FACT_PAST`], as of [`FACT_OBSERVATION`] up to the check, digest, number (falling). Value: an observation that newer ones
/// took the place of, and when it was made. None of the same time and import is in the log.
/// Key: [`FACT_PAST_RUNS`], number of a part. Value: up to 128 imports that past observations name by their numbers.
/// Key: [`FACT_BATCH`], batch id. Value: `BatchEntry`. Key: [`FACT_SUBJECTS`], until, id. Value: `SubjectStatement`, said or withdrawn.
/// Key: [`FACT_UNDONE`], import, as of [`FACT_OBSERVATION`]. Value: `Observation`. Invariant: the import is there, and undone.
/// Key: [`FACT_WORDING`], SHA-256. Value: the text. Never changed; removed with the last record that refers to it.
pub(super) const FACTS: PerClient = PerClient { noun: "facts", part: ClientPart::Posture };
pub(super) const FACT_VERSION: u8 = 1;
pub(super) const FACT_OBSERVATION: u8 = 2;
pub(super) const FACT_ATTESTATION: u8 = 3;
pub(super) const FACT_DECISION: u8 = 4;
pub(super) const FACT_IMPORT: u8 = 5;
pub(super) const FACT_IMPORT_TIME: u8 = 6;
pub(super) const FACT_IMPORT_DIGEST: u8 = 7;
pub(super) const FACT_SOURCE: u8 = 8;
pub(super) const FACT_EVIDENCE: u8 = 9;
pub(super) const FACT_EVIDENCE_SOURCE: u8 = 10;
pub(super) const FACT_IMPORT_COUNT: u8 = 11;
pub(super) const FACT_IMPORT_CHANGE: u8 = 12;
pub(super) const FACT_IMPORT_AGE: u8 = 13;
pub(super) const FACT_MEMBER: u8 = 20;
pub(super) const FACT_PART: u8 = 21;
pub(super) const FACT_HEALTH: u8 = 22;
pub(super) const FACT_RUN: u8 = 23;
pub(super) const FACT_STEP: u8 = 24;
pub(super) const FACT_UNCOUNTED: u8 = 25;
pub(super) const FACT_READ: u8 = 26;
pub(super) const FACT_LIST: u8 = 27;
pub(super) const FACT_SCAN: u8 = 28;
pub(super) const FACT_COLUMNS: u8 = 29;
pub(super) const FACT_LEAVER: u8 = 30;
pub(super) const FACT_EVIDENCE_FILE: u8 = 31;
pub(super) const FACT_EVIDENCE_PART: u8 = 32;
pub(super) const FACT_STATEMENT: u8 = 33;
pub(super) const FACT_STATEMENT_TOPIC: u8 = 34;
pub(super) const FACT_STATEMENT_COUNT: u8 = 35;
pub(super) const FACT_WORDING: u8 = 36;
pub(super) const FACT_STATEMENT_STANDING: u8 = 37;
pub(super) const FACT_PAST: u8 = 38;
pub(super) const FACT_BATCH: u8 = 39;
pub(super) const FACT_UNDONE: u8 = 40;
pub(super) const FACT_PAST_RUNS: u8 = 41;
pub(super) const FACT_SUBJECTS: u8 = 42;

/// The results of the last assessment.
///
/// Key: [`POSTURE_ASSESSED`]. Value: `Assessed`. Key: [`POSTURE_SCORE`]. Value: `ScoreEntry`, the current one.
/// Key: [`POSTURE_CONTROL`], control code. Value: `ControlOutcome`. Key: [`POSTURE_FRAMEWORK`], framework. Value: `FrameworkOutcome`.
/// Key: [`POSTURE_RISK`], condition. Value: `OpenRisk`. Key: [`POSTURE_CONDITION_ASIDE`], its key. Value: `Condition`, not open.
/// Key: [`POSTURE_TOUCHED`], hash of a failing subject. Value: u8, the score of the worst risk that touches it.
/// Key: [`POSTURE_CONDITION`], its key. Value: `Condition`. Key: [`POSTURE_SUMMARY_EVENT`], its key. Value: `SummaryEvent`.
/// Key: [`POSTURE_SUMMARIZED`], key of a condition or risk. Value: `SummaryMark`.
/// Key: [`POSTURE_LOSS`]. Value: `ExpectedLoss`. None if an input is unknown. Key: [`POSTURE_ESTATE`]. Value: `EstateRecord`.
/// Key: [`POSTURE_REFERENCES`], what it is about: 1; 2 and a risk id; 3 and a task id. Value: `Vec<ExternalReference>`.
/// Key: [`POSTURE_DIGEST`], framework. Value: u64, what the framework was as it was assessed.
/// Key: [`POSTURE_CONTRADICTION`], what the decision is about. Value: `Contradiction`.
/// Key: [`POSTURE_N_CONTRADICTIONS`]. Value: u32, their number. None if they were never looked for.
pub(super) const POSTURE: PerClient = PerClient { noun: "posture", part: ClientPart::Posture };
pub(super) const POSTURE_ASSESSED: u8 = 1;
pub(super) const POSTURE_SCORE: u8 = 2;
pub(super) const POSTURE_CONTROL: u8 = 3;
pub(super) const POSTURE_FRAMEWORK: u8 = 4;
pub(super) const POSTURE_RISK: u8 = 5;
pub(super) const POSTURE_TOUCHED: u8 = 6;
pub(super) const POSTURE_CONDITION: u8 = 7;
pub(super) const POSTURE_SUMMARY_EVENT: u8 = 8;
pub(super) const POSTURE_SUMMARIZED: u8 = 9;
pub(super) const POSTURE_LOSS: u8 = 10;
pub(super) const POSTURE_DIGEST: u8 = 11;
pub(super) const POSTURE_REFERENCES: u8 = 12;
pub(super) const POSTURE_ESTATE: u8 = 15;
pub(super) const POSTURE_CONTRADICTION: u8 = 13;
pub(super) const POSTURE_N_CONTRADICTIONS: u8 = 14;
pub(super) const POSTURE_CONDITION_ASIDE: u8 = 16;

/// The history of the score and of every verdict.
///
/// Key: [`HISTORY_DAY`], UTC day (falling). Value: `ScoreEntry`, that day's last.
/// Key: [`HISTORY_MOVE`], at (falling), number among those of that moment (falling). Value: `Move`.
/// Key: [`HISTORY_CHANGE_POINT`], UTC day (falling), number of that day (falling). Value: `ChangePoint`.
/// Key: [`HISTORY_CHANGE`], group, day and number of its first change point. Value: what changed of the group then and after it.
/// Key: [`HISTORY_VERDICTS`], group. Value: its verdicts after the last change.
pub(super) const HISTORY: PerClient = PerClient { noun: "history", part: ClientPart::Posture };
pub(super) const HISTORY_DAY: u8 = 1;
pub(super) const HISTORY_MOVE: u8 = 2;
pub(super) const HISTORY_CHANGE_POINT: u8 = 3;
pub(super) const HISTORY_CHANGE: u8 = 4;
pub(super) const HISTORY_VERDICTS: u8 = 5;

/// All tables of one client, in the order in which an erasure empties them.
pub(super) const ALL_PER_CLIENT: [PerClient; 5] = [ASSETS, EXTERNAL, FACTS, POSTURE, HISTORY];

/// Properties of the database.
///
/// Key: a name in `meta.rs`. Value: that name's own type. Invariant: `format` is there from creation on.
pub(super) const META: &str = "meta";

/// What a backup holds. Only in backups. Key: nothing. Value: `Manifest`. Written last.
pub(super) const MANIFEST: &str = "manifest";

/// Client organizations.
///
/// Key: client id. Value: `Client`. Removed last when a client is erased, so that an erasure can be resumed.
pub(super) const CLIENTS: &str = "clients";

/// API keys; digests, never secrets.
///
/// Key: key id. Value: `Key`.
pub(super) const KEYS: &str = "keys";

/// Users; password hashes, never passwords.
///
/// Key: user id. Value: `User`. Invariant: no two have a name in common, without regard to case.
pub(super) const USERS: &str = "users";

/// Sessions of the console; digests, never secrets.
///
/// Key: the digest. Value: `ConsoleSession`. Rows of sessions that have ended go with the next one that begins.
pub(super) const CONSOLE_SESSIONS: &str = "browser_sessions";

/// Second factors of users; their secrets are encrypted.
///
/// Key: user id. Value: `SecondFactor`. No row: the user has none.
pub(super) const SECOND_FACTORS: &str = "second_factors";

/// Passkeys of users; public keys, never secrets.
///
/// Key: user id, passkey id. Value: `Passkey`. Invariant: no two have a credential in common.
pub(super) const PASSKEYS: &str = "passkeys";

/// Who users are at the identity provider.
///
/// Key: user id. Value: `Identity`. No row: the user has a password here. Invariant: no two have an issuer and a subject in
/// common.
pub(super) const IDENTITIES: &str = "identities";

/// Checkpoints of the rate limits.
///
/// Key: key id. Value: `Windows`.
pub(super) const WINDOWS: &str = "windows";

/// The client of each asset, for requests that name no client.
///
/// Key: asset id. Value: client id.
/// Invariant: one row for each row of every client's [`ASSETS`]. Its last key is the highest asset
/// id ever made, or the highest that was not erased.
pub(super) const ASSET_CLIENTS: &str = "asset_clients";

/// Events, in commit order.
///
/// Key: sequence. Value: `Event`. Invariant: sequences rise by one and are never used again.
pub(super) const EVENTS: &str = "events";

/// The same by client.
///
/// Key: client id, sequence. Value: nothing. Invariant: one row for each of [`EVENTS`].
pub(super) const CLIENT_EVENTS: &str = "client_events";

/// Status changes of requirements, in commit order.
///
/// Key: sequence of the last row of the record. Value: a record in `change.rs`. Invariant: sequences rise by one and are
/// never used again.
pub(super) const CHANGES: &str = "changes";

/// The same by client.
///
/// Key: client id, sequence as in [`CHANGES`]. Value: nothing. Invariant: one row for each of [`CHANGES`].
pub(super) const CLIENT_CHANGES: &str = "client_changes";

/// Remediation tasks.
///
/// Key: task id. Value: `Task`. Invariant: one row in [`CLIENT_TASKS`] for each, and one in [`OPEN_TASKS`] while it is
/// open or in progress.
pub(super) const TASKS: &str = "tasks";

/// The same by client.
///
/// Key: client id, task id. Value: nothing.
pub(super) const CLIENT_TASKS: &str = "client_tasks";

/// Tasks that are open or in progress, by client.
///
/// Key: client id, task id. Value: nothing.
pub(super) const OPEN_TASKS: &str = "open_tasks";

/// Network scans.
///
/// Key: scan id. Value: `Scan`. Invariant: one row in [`CLIENT_SCANS`] for each, and one in [`OPEN_SCANS`] until it ends.
pub(super) const SCANS: &str = "scans";

/// The same by client.
///
/// Key: client id (zeros: of none), scan id. Value: nothing.
pub(super) const CLIENT_SCANS: &str = "client_scans";

/// Scans that are queued or running.
///
/// Key: scan id. Value: nothing.
pub(super) const OPEN_SCANS: &str = "open_scans";

/// Hosts that scans found.
///
/// Key: scan id, 4 or 6, address. Value: `Host`.
pub(super) const SCAN_HOSTS: &str = "scan_hosts";

/// Files of findings that were pushed.
///
/// Key: the key that pushed it, ingestion id. Value: `Ingestion`. Invariant: its file is there until it ends.
pub(super) const INGESTIONS: &str = "ingestions";

/// Connections to clients' environments.
///
/// Key: connection id. Value: `Connection`. Invariant: one row in [`CONNECTION_DUE`] while it is active or being removed.
pub(super) const CONNECTIONS: &str = "connections";

/// The last run of each connection.
///
/// Key: connection id. Value: `ConnectionRun`. No row: it never ran.
pub(super) const CONNECTION_RUNS: &str = "connection_runs";

/// When each connection is to run.
///
/// Key: connection id. Value: time. Invariant: one row in [`CONNECTION_TIMES`] for each.
pub(super) const CONNECTION_DUE: &str = "connection_due";

/// The same, soonest first.
///
/// Key: due, connection id. Value: nothing.
pub(super) const CONNECTION_TIMES: &str = "connection_times";

/// The organizations that a connection of the managed service provider sees.
///
/// Key: connection id, external id of the organization. Value: `ConnectionOrg`.
pub(super) const CONNECTION_ORGS: &str = "connection_orgs";

/// What connections sign in with; the secrets are encrypted.
///
/// Key: `CredentialOwner::key`. Value: `Credential`.
pub(super) const CONNECTION_CREDENTIALS: &str = "connection_credentials";

/// Mappings that the managed service provider wrote.
///
/// Key: the kind of connection that it declares. Value: `ConnectionMapping`.
pub(super) const CONNECTION_MAPPINGS: &str = "connection_mappings";

/// Which client each tenant of a vendor is.
///
/// Key: tenant. Value: `BoundTenant`. Invariant: one row in [`CLIENT_TENANTS`] for each.
pub(super) const BOUND_TENANTS: &str = "bound_tenants";

/// The same, by client.
///
/// Key: client id, tenant. Value: the tenant.
pub(super) const CLIENT_TENANTS: &str = "client_tenants";

/// What callers who may not reach all clients said of tenants, and what the bindings of tenants were before.
///
/// Key: `CLAIM_OF_CLIENT`, client id, tenant. Value: `TenantClaim`. Invariant: one row of `CLAIM_OF_TENANT` for each.
/// Key: `CLAIM_OF_TENANT`, tenant, client id. Value: the client id.
/// Key: `TENANT_BEFORE`, tenant. Value: `TenantBefore`. Absent: the present binding took the tenant from nobody.
pub(super) const TENANT_CLAIMS: &str = "tenant_claims";

/// Alert rules.
///
/// Key: alert rule id. Value: `AlertRule`.
pub(super) const ALERT_RULES: &str = "alert_rules";

/// Schedules of reports that are sent by e-mail.
///
/// Key: schedule id. Value: `ReportSchedule`. Invariant: one row in [`CLIENT_REPORT_SCHEDULES`] and one in
/// [`REPORT_SCHEDULE_TIMES`] for each.
pub(super) const REPORT_SCHEDULES: &str = "report_schedules";

/// The same by client.
///
/// Key: client id (zeros: about all clients), schedule id. Value: nothing.
pub(super) const CLIENT_REPORT_SCHEDULES: &str = "client_report_schedules";

/// When an attempt at each is due, soonest first.
///
/// Key: due, schedule id. Value: nothing.
pub(super) const REPORT_SCHEDULE_TIMES: &str = "report_schedule_times";

/// Webhooks; their secrets are encrypted.
///
/// Key: webhook id. Value: `Webhook`. Removed last when an endpoint is erased, so that an erasure can be resumed.
pub(super) const WEBHOOKS: &str = "webhooks";

/// Frameworks that the managed service provider wrote.
///
/// Key: framework id. Value: `OwnFramework`.
pub(super) const OWN_FRAMEWORKS: &str = "own_frameworks";

/// What the verdicts of each group are about, by which their positions count.
///
/// Key: group, digest. Value: `Outline`. Written by the first assessment that uses it, and kept: the histories of all clients
/// refer to it.
pub(super) const OUTLINES: &str = "outlines";

/// What is set in place of the configuration.
///
/// Key: the key of the configuration. Value: `StoredSetting`. No row: the configuration counts.
pub(super) const SETTINGS: &str = "settings";

/// Vulnerabilities that are known to be exploited.
///
/// Key: CVE. Value: nothing.
pub(super) const EXPLOITED: &str = "exploited";

/// Which list they are of.
///
/// Key: `list`. Value: `ExploitedList`. No row: none was brought.
pub(super) const EXPLOITED_LIST: &str = "exploited_list";

/// What an ACME authority gave the service; keys are encrypted.
///
/// Key: `account`. Value: `AcmeAccount`.
/// Key: `certificate`. Value: `StoredCertificate`.
/// Key: `failures`. Value: `AcmeFailures`. Absent: the last order did not fail.
/// Key: `order`. Value: `AcmeOrder`. Absent: no order is about to be issued.
/// Key: `contact`. Value: `AcmeContact`. Absent: an earlier release made the account.
pub(super) const ACME: &str = "acme";

/// Of which frameworks a webhook gets events. No row: of those of the contract.
///
/// Key: webhook id. Value: `FrameworkChoice`.
pub(super) const WEBHOOK_FRAMEWORKS: &str = "webhook_frameworks";

/// Headers that a webhook sends besides those of the service; their values are encrypted. No row: none.
///
/// Key: webhook id. Value: `WebhookHeaders`.
pub(super) const WEBHOOK_HEADERS: &str = "webhook_headers";

/// Deliveries of events to webhooks.
///
/// Key: webhook id, sequence of the event. Value: `Delivery`.
/// Invariant: one row in [`OUTBOX`] while it waits, in [`CLAIMS`] while an attempt is in progress, else in [`FINISHED`].
pub(super) const DELIVERIES: &str = "deliveries";

/// Waiting deliveries of each webhook, soonest first.
///
/// Key: webhook id, due, sequence. Value: nothing.
pub(super) const OUTBOX: &str = "outbox";

/// Attempts in progress. Empty once a start has released those of the previous process.
///
/// Key: webhook id, sequence. Value: nothing.
pub(super) const CLAIMS: &str = "claims";

/// Deliveries that ended, oldest first.
///
/// Key: when, webhook id, sequence. Value: nothing.
pub(super) const FINISHED: &str = "finished";

/// The state of each webhook's deliveries.
///
/// Key: webhook id. Value: `DeliveryQueue`.
pub(super) const DELIVERY_QUEUES: &str = "lanes";

/// The share of each client in each webhook's queue.
///
/// Key: webhook id, client id. Value: `ClientShare`. No row: nothing of the client waits.
pub(super) const QUEUE_SHARES: &str = "queue_shares";

/// Answers to requests that may be repeated.
///
/// Key: SHA-256 of the caller and its key. Value: `Answer`.
pub(super) const ANSWERS: &str = "answers";

/// The same, oldest first.
///
/// Key: when, key. Value: nothing.
pub(super) const ANSWER_TIMES: &str = "answer_times";

/// The audit log.
///
/// Key: sequence. Value: `AuditEntry`. Invariant: sequences rise by one; each hash covers the one before it; the last is
/// never removed.
pub(super) const AUDIT: &str = "audit";

/// Receipts of clients that were erased.
///
/// Key: SHA-256 of the client's id. Value: `ErasureReceipt`.
pub(super) const ERASURES: &str = "erasures";

/// Statements that were made about many clients at once, and those of them that are in progress.
///
/// Key: batch id. Value: `BatchRecord`; nothing.
pub(super) const BATCHES: &str = "batches";
pub(super) const OPEN_BATCHES: &str = "open_batches";

/// Figures per client, for sums over all clients.
///
/// Key: client id. Value: `Summary`. Invariant: what `count_summary` counts. A client that was never written has none.
pub(super) const SUMMARIES: &str = "summaries";

/// When each client is to be reassessed.
///
/// Key: client id. Value: time, how often it was requested. Invariant: one row in [`DUE_TIMES`] for each.
pub(super) const DUE: &str = "due";

/// The same, soonest first.
///
/// Key: time, client id. Value: nothing.
pub(super) const DUE_TIMES: &str = "due_times";
