//! The portfolio as a table: one row per client.

use crate::api::Web;
use crate::api::wire::file::FileFormat;
use crate::app::report::portfolio::{ClientStanding, StandingList, require_reportable};
use crate::app::report::posture::COVERAGE_MIN;
use crate::auth::caller::Caller;
use crate::blocking;
use crate::clock::Time;
use crate::engine::catalog::Catalog;
use crate::engine::framework::FrameworkId;
use crate::engine::posture::FrameworkSummary;
use crate::error::Result;
use crate::page::PULL_LIMIT_MAX;
use crate::paper::table::{Cell, Column, Table};

/// The headings before those of the frameworks, and how wide their columns are.
const COLUMNS: [(&str, u16); 12] = [
    ("Client", 30),
    ("Client id", 38),
    ("Score", 8),
    ("Grade", 8),
    ("Coverage %", 10),
    ("Provisional", 12),
    ("Critical risks", 10),
    ("High risks", 10),
    ("Medium risks", 10),
    ("Low risks", 10),
    ("Contradicted decisions", 14),
    ("Attention", 50),
];
/// The figures of each framework.
const FIGURES: [&str; 5] = ["readiness", "passed", "partial", "failed", "total"];
const FIGURE_WIDTH: u16 = 14;

/// Makes the table of the active clients that the caller may see, in the order in which they were added.
///
/// # Errors
/// `Conflict` if there are too many for a report; `Unavailable` if the database is not available.
pub(super) async fn table(web: &Web, caller: &Caller, format: FileFormat) -> Result<Vec<u8>> {
    let _turn = web.app.portfolio_turn().await?;
    let mut table = PortfolioTable::begin(format, &web.app.catalog(), web.app.clock.now())?;
    let (mut after, mut n_clients) = (None, 0);
    loop {
        let list = StandingList { after, ..StandingList::default() };
        let some = web.app.list_standings(caller, list, PULL_LIMIT_MAX).await?;
        n_clients += some.len();
        require_reportable(n_clients)?;
        let is_end = some.len() < PULL_LIMIT_MAX as usize;
        after = some.last().map(|it| it.client.id);
        some.into_iter().try_for_each(|it| table.put(it))?;
        if is_end {
            return blocking::run((), move || table.table.end()).await;
        }
    }
}

/// The table so far.
struct PortfolioTable {
    /// In the order of their columns.
    frameworks: Vec<FrameworkId>,
    table: Table,
}

impl PortfolioTable {
    fn begin(format: FileFormat, catalog: &Catalog, now: Time) -> Result<Self> {
        let frameworks: Vec<FrameworkId> = catalog.frameworks.iter().map(|it| it.id).collect();
        let mut columns: Vec<Column> =
            COLUMNS.map(|(heading, width)| Column::of(heading, width)).into();
        for id in &frameworks {
            let of = |figure| Column::of(format!("{} {figure}", id.as_str()), FIGURE_WIDTH);
            columns.extend(FIGURES.map(of));
        }
        Ok(Self { frameworks, table: format.table(&columns, now)? })
    }

    fn put(&mut self, standing: ClientStanding) -> Result<()> {
        let n_contradictions = standing.n_contradictions;
        let ClientStanding { client, score, coverage, n_risks, attention, frameworks, .. } =
            standing;
        let score = score.as_ref().map(|it| &it.score);
        let mut cells = vec![
            Cell::text(&client.name),
            Cell::text(client.id.to_string()),
            Cell::given(score, |it| Cell::number(it.overall)),
            Cell::given(score, |it| Cell::text(it.grade())),
            Cell::number(coverage),
            Cell::yes_or_no(coverage < COVERAGE_MIN),
        ];
        let number = |it: u64| Cell::number(u32::try_from(it).unwrap_or(u32::MAX));
        cells.extend(n_risks.map(number));
        cells.push(Cell::number(n_contradictions));
        cells.push(Cell::text(attention.join(", ")));
        for id in &self.frameworks {
            let of = frameworks.iter().find(|(it, is_in_scope, _)| it == id && *is_in_scope);
            cells.extend(figures(of.map(|it| &it.2)));
        }
        self.table.put(cells)
    }
}

/// Empty if the framework is not in scope.
fn figures(summary: Option<&FrameworkSummary>) -> [Cell; FIGURES.len()] {
    let Some(it) = summary else { return [const { Cell::Empty }; FIGURES.len()] };
    [it.readiness.into(), it.passed, it.partial, it.failed, it.total].map(Cell::number::<u32>)
}
