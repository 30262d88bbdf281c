//! Schedules of reports that are sent by e-mail, and what became of their last messages.

use bincode::{Decode, Encode};

use crate::clock::Time;
use crate::engine::framework::FrameworkId;
use crate::error::Result;
use crate::id::{ClientId, ReportScheduleId};
use crate::paper::Language;
use crate::store::Batch;
use crate::store::kernel::transaction::{Rows, Transaction};
use crate::store::row_key::{RowKey, Span, rising};
use crate::store::table::{CLIENT_REPORT_SCHEDULES, REPORT_SCHEDULE_TIMES, REPORT_SCHEDULES};

/// A report, and when it is sent to whom.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct ReportSchedule {
    pub id: ReportScheduleId,
    /// `None`: the report is about all clients.
    pub client: Option<ClientId>,
    /// `None`: it is the report about the client.
    pub framework: Option<FrameworkId>,
    pub recipients: Vec<String>,
    pub language: Language,
    pub rhythm: Rhythm,
    pub created_at: Time,
    pub updated_at: Time,
    pub next: NextSending,
    /// `None`: it was not sent yet.
    pub last: Option<LastSending>,
}

/// When a schedule is due: at an hour of a day in a time zone.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Rhythm {
    pub every: Period,
    /// Of a week: from 1, Monday, to 7. Of a month, or of the first month of a quarter: from 1 to 31; a month without it is
    /// due on its last day.
    pub day: u8,
    /// 0 to 23.
    pub hour: u8,
    /// Its name in the IANA database.
    pub zone: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Period {
    Week,
    Month,
    Quarter,
}

impl Period {
    pub const ALL: [Self; 3] = [Self::Week, Self::Month, Self::Quarter];

    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Week => "week",
            Self::Month => "month",
            Self::Quarter => "quarter",
        }
    }

    /// The highest day.
    #[must_use]
    pub const fn days_max(self) -> u8 {
        match self {
            Self::Week => 7,
            Self::Month | Self::Quarter => 31,
        }
    }
}

/// The message that is sent next, or is being sent.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct NextSending {
    /// When it is due. It stays while attempts fail.
    pub slot: Time,
    /// When the next attempt is made. While one is in progress: when it counts as lost.
    pub due: Time,
    /// Attempts that began.
    pub n_attempts: u32,
    pub is_under_way: bool,
    /// Due times that passed after `slot`, for which no message of their own is sent.
    pub n_missed: u32,
    /// Recipients that the server took in an attempt before.
    pub delivered: Vec<String>,
    /// Those that it will never take.
    pub refused: Vec<RefusedRecipient>,
}

impl NextSending {
    #[must_use]
    pub fn at(slot: Time) -> Self {
        Self {
            slot,
            due: slot,
            n_attempts: 0,
            is_under_way: false,
            n_missed: 0,
            delivered: Vec::new(),
            refused: Vec::new(),
        }
    }
}

/// A recipient to whom nothing was sent, and why.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct RefusedRecipient {
    pub recipient: String,
    pub why: SendingFailure,
}

/// Why something was not sent.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct SendingFailure {
    /// The word of a kind of failure.
    pub kind: String,
    pub message: String,
}

/// What became of a message.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct LastSending {
    /// When it was due.
    pub slot: Time,
    /// When the last attempt ended.
    pub at: Time,
    pub n_missed: u32,
    pub delivered: Vec<String>,
    pub refused: Vec<RefusedRecipient>,
    /// Why the recipients that are in neither list got nothing. `None`: there are none.
    pub failure: Option<SendingFailure>,
    /// Another attempt follows.
    pub is_retried: bool,
}

impl LastSending {
    /// Somebody did not get the report, and no attempt follows.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        !self.is_retried && (self.failure.is_some() || !self.refused.is_empty())
    }
}

fn client_key(client: Option<ClientId>, id: ReportScheduleId) -> RowKey {
    let owner = client.map_or([0; 16], |it| *it.as_bytes());
    RowKey::empty().bytes(&owner).bytes(id.as_bytes())
}

fn time_key(due: Time, id: ReportScheduleId) -> RowKey {
    RowKey::empty().bytes(&rising(due).to_be_bytes()).bytes(id.as_bytes())
}

fn id_of(key: &[u8]) -> ReportScheduleId {
    ReportScheduleId::from_bytes(*key.last_chunk().expect("the key ends with a schedule"))
}

impl<R: Rows> Transaction<R> {
    pub fn find_report_schedule(&self, id: ReportScheduleId) -> Result<Option<ReportSchedule>> {
        self.rows.find_row(REPORT_SCHEDULES, id.as_bytes())
    }

    /// Of all clients, oldest first.
    pub fn list_report_schedules(&self) -> Result<Vec<ReportSchedule>> {
        self.rows.list_rows(REPORT_SCHEDULES, &Span::all(), usize::MAX)
    }

    /// Of one client (`None`: about all clients), oldest first.
    pub fn list_own_report_schedules(
        &self,
        client: Option<ClientId>,
    ) -> Result<Vec<ReportSchedule>> {
        let owner = client.map_or([0; 16], |it| *it.as_bytes());
        let span = Span::prefix(&owner);
        let mut found = Vec::new();
        for key in self.rows.list_keys_of(CLIENT_REPORT_SCHEDULES, &span, usize::MAX)? {
            found.extend(self.find_report_schedule(id_of(&key))?);
        }
        Ok(found)
    }

    /// How many there are.
    pub fn count_report_schedules(&self) -> Result<usize> {
        Ok(self.rows.list_keys_of(REPORT_SCHEDULES, &Span::all(), usize::MAX)?.len())
    }

    /// Up to `n_max` that are due, the longest due first.
    pub fn list_due_report_schedules(
        &self,
        now: Time,
        n_max: usize,
    ) -> Result<Vec<ReportScheduleId>> {
        let until = (rising(now) + 1).to_be_bytes().to_vec();
        let span = Span { from: Vec::new(), until: Some(until) };
        let keys = self.rows.list_keys_of(REPORT_SCHEDULE_TIMES, &span, n_max)?;
        Ok(keys.iter().map(|it| id_of(it)).collect())
    }
}

impl Batch {
    /// Its client never changes.
    pub fn put_report_schedule(&mut self, it: &ReportSchedule) -> Result<()> {
        if let Some(before) = self.find_report_schedule(it.id)? {
            let key = time_key(before.next.due, it.id);
            self.rows.remove_row(REPORT_SCHEDULE_TIMES, key.as_slice())?;
        }
        let key = client_key(it.client, it.id);
        self.rows.put_row(CLIENT_REPORT_SCHEDULES, key.as_slice(), &())?;
        let key = time_key(it.next.due, it.id);
        self.rows.put_row(REPORT_SCHEDULE_TIMES, key.as_slice(), &())?;
        self.rows.put_row(REPORT_SCHEDULES, it.id.as_bytes(), it)
    }

    pub fn remove_report_schedule(&mut self, it: &ReportSchedule) -> Result<()> {
        let key = time_key(it.next.due, it.id);
        self.rows.remove_row(REPORT_SCHEDULE_TIMES, key.as_slice())?;
        let key = client_key(it.client, it.id);
        self.rows.remove_row(CLIENT_REPORT_SCHEDULES, key.as_slice())?;
        self.rows.remove_row(REPORT_SCHEDULES, it.id.as_bytes()).map(|_| ())
    }

    /// Removes up to `n_max` of a client, and returns how many.
    pub(in crate::store) fn remove_client_report_schedules(
        &mut self,
        client: ClientId,
        n_max: usize,
    ) -> Result<usize> {
        let all = self.list_own_report_schedules(Some(client))?;
        let some = &all[..n_max.min(all.len())];
        some.iter().try_for_each(|it| self.remove_report_schedule(it))?;
        Ok(some.len())
    }
}
