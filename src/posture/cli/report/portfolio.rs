//! `posture portfolio`: all clients, those that need work first.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde_json::Value;

use super::download::{self, ReportFormat};
use crate::app::report::posture::COVERAGE_MIN;
use crate::cli::call::{ServerSession, with_session};
use crate::cli::print;
use crate::config::Config;
use crate::error::Result;
use crate::page::PULL_LIMIT_MAX;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  posture portfolio
  posture portfolio --sort risks
  posture portfolio --format xlsx --output portfolio.xlsx
  posture portfolio --json | jq -r '.data[] | select(.provisional) | .clientName'")]
pub(in crate::cli) struct PortfolioArgs {
    /// Order of the clients. Ties are ordered by name.
    #[arg(long, value_enum, default_value_t = PortfolioOrder::Score)]
    sort: PortfolioOrder,
    /// A report with all figures instead, in the order in which the clients were added.
    #[arg(long, value_enum, conflicts_with = "sort")]
    format: Option<TableFormat>,
    /// File to write the report to, or - for standard output. A file that exists is replaced.
    #[arg(long, short, default_value = "-", requires = "format", value_name = "FILE")]
    output: PathBuf,
}

/// The format of the report.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum TableFormat {
    /// A table as text.
    Csv,
    /// A table as a spreadsheet.
    Xlsx,
}

impl TableFormat {
    const fn report(self) -> ReportFormat {
        match self {
            Self::Csv => ReportFormat::Csv,
            Self::Xlsx => ReportFormat::Xlsx,
        }
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum PortfolioOrder {
    /// Lowest score first; clients without a score last.
    Score,
    /// Most critical risks first, then most high ones, and so on.
    Risks,
    /// Least coverage first.
    Coverage,
    /// By name.
    Name,
}

pub(in crate::cli) fn run(options: &Config, json: bool, args: &PortfolioArgs) -> Result<()> {
    if let Some(format) = args.format {
        let path = async |_: &ServerSession| Ok("/api/portfolio/report".to_owned());
        return download::run(options, json, (format.report(), &args.output), path);
    }
    let mut all = with_session(options, async |session| {
        session.list("/api/portfolio/scores", PULL_LIMIT_MAX).await
    })?;
    all.sort_by_cached_key(|it| {
        (place(args.sort, it), print::cell(&it["clientName"]).to_lowercase())
    });
    let heading =
        ["CLIENT", "SCORE", "GRADE", "COVERAGE", "CRIT", "HIGH", "MED", "LOW", "ATTENTION"];
    print::list(json, &all, ("no clients; `posture client add` adds one", &heading), |it| {
        let score = &it["score"];
        let provisional = if it["provisional"] == true { "*" } else { "" };
        let risks = |name: &str| print::cell(&it["risks"][name]);
        let attention = print::rows(&it["attention"]).iter().map(print::cell);
        vec![
            print::cell(&it["clientName"]),
            print::cell(&score["overallScore"]),
            print::cell(&score["grade"]),
            format!("{} %{provisional}", print::cell(&it["coverage"])),
            risks("critical"),
            risks("high"),
            risks("medium"),
            risks("low"),
            attention.collect::<Vec<_>>().join(", "),
        ]
    })?;
    if !json && all.iter().any(|it| it["provisional"] == true) {
        print::line(&format!(
            "* provisional: less than {COVERAGE_MIN} % of the controls, by weight, is assessed"
        ))?;
    }
    Ok(())
}

/// What a client is ordered by. The least comes first.
fn place(order: PortfolioOrder, it: &Value) -> [i64; 4] {
    let least = |it: &Value| [it.as_i64().unwrap_or(i64::MAX), 0, 0, 0];
    match order {
        PortfolioOrder::Score => least(&it["score"]["overallScore"]),
        PortfolioOrder::Coverage => least(&it["coverage"]),
        PortfolioOrder::Name => [0; 4],
        PortfolioOrder::Risks => ["critical", "high", "medium", "low"]
            .map(|name| -it["risks"][name].as_i64().unwrap_or(0)),
    }
}
