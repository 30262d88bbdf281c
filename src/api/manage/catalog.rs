//! The catalogue: frameworks and their requirements, controls and what they ask.

use std::collections::BTreeMap;
use std::sync::Arc;

use poem::web::Data as Held;
use poem_openapi::param::Path;
use poem_openapi::{Object, OpenApi};
use serde::Serialize;

use crate::api::edge::caller::By;
use crate::api::edge::right::ViewCatalog;
use crate::api::wire::param::{Raw, Text};
use crate::api::wire::problem::Failure;
use crate::api::wire::reply::{Data, Null};
use crate::api::wire::view::SeverityView;
use crate::api::{Group, Web};
use crate::engine::catalog::{Catalog, Control, Framework, FrameworkId, Level, Mapping, Row};

/// A framework in the list.
#[derive(Object, Serialize)]
#[oai(rename = "Framework", rename_all = "camelCase")]
#[serde(rename_all = "camelCase")]
pub struct FrameworkView {
    framework_id: String,
    framework_name: String,
    framework_version: String,
    /// Rows that operation 9 lists.
    requirements: u32,
    /// Rows of `level=detail`.
    details: u32,
    /// Requirements with at least one control that is decided without a person.
    automatic: u32,
}

impl FrameworkView {
    fn of(catalog: &Catalog, framework: &Framework) -> Self {
        let count = |wanted: &dyn Fn(&&Row) -> bool| {
            u32::try_from(framework.rows.iter().filter(wanted).count()).unwrap_or(u32::MAX)
        };
        let is_automatic = |it: &Mapping| catalog.controls[it.control].is_automatic();
        Self {
            framework_id: framework.id.as_str().to_owned(),
            framework_name: framework.name.clone(),
            framework_version: framework.version.clone(),
            requirements: count(&|it| it.level == Level::Requirement),
            details: count(&|it| it.level == Level::Detail),
            automatic: count(&|it| {
                it.level == Level::Requirement && it.controls.iter().any(is_automatic)
            }),
        }
    }
}

/// A framework with its rows.
#[derive(Object, Serialize)]
#[oai(rename = "FrameworkDetail", rename_all = "camelCase")]
#[serde(rename_all = "camelCase")]
pub struct FrameworkDetailView {
    framework_id: String,
    framework_name: String,
    framework_version: String,
    rows: Vec<RowView>,
}

/// One reference of a framework and the controls that are mapped to it.
#[derive(Object, Serialize)]
#[oai(rename = "FrameworkRow", rename_all = "camelCase")]
#[serde(rename_all = "camelCase")]
pub struct RowView {
    requirement: String,
    /// `requirement` or `detail`.
    level: String,
    /// The row that takes this row's controls too.
    parent: Null<String>,
    title: String,
    description: String,
    /// Caps the framework's readiness at 69 while it is not compliant.
    gate: bool,
    /// The profile question that makes it apply; null: it always does.
    applies: Null<String>,
    controls: Vec<MappingView>,
}

/// Why a control is mapped to a row.
#[derive(Object, Serialize)]
#[oai(rename = "ControlMapping", rename_all = "camelCase")]
#[serde(rename_all = "camelCase")]
pub struct MappingView {
    control_code: String,
    /// `decides`: meeting it is what the row asks. `supports`: an indicator.
    role: String,
    why: String,
}

impl RowView {
    fn of(catalog: &Catalog, framework: &Framework, row: &Row) -> Self {
        let mapping = |it: &Mapping| MappingView {
            control_code: catalog.controls[it.control].code.clone(),
            role: it.role.as_str().to_owned(),
            why: it.why.clone(),
        };
        Self {
            requirement: row.reference.clone(),
            level: row.level.as_str().to_owned(),
            parent: row.parent.map(|it| framework.rows[it].reference.clone()).into(),
            title: row.title.clone(),
            description: row.description.clone(),
            gate: row.gate,
            applies: row.applies.clone().into(),
            controls: row.controls.iter().map(mapping).collect(),
        }
    }
}

/// A technical control.
#[derive(Object, Serialize)]
#[oai(rename = "Control", rename_all = "camelCase")]
#[serde(rename_all = "camelCase")]
pub struct ControlView {
    control_code: String,
    title: String,
    category: String,
    severity: SeverityView,
    /// What is true when it is met.
    requires: String,
    /// assessor, connector, scan, dns, push, attestation or derived.
    decided_by: Vec<String>,
    /// Profile questions: it does not apply when the client uses none of these. Empty: it always applies.
    platforms: Vec<String>,
    max_age_days: u16,
    /// What a person answers to attest it.
    question: Null<String>,
    risk: String,
    remediation: String,
    /// Check ids by tool that decide it.
    checks: BTreeMap<String, Vec<String>>,
    /// References that it is mapped to, by framework.
    requirements: BTreeMap<String, Vec<String>>,
}

impl ControlView {
    fn of(catalog: &Catalog, index: usize, control: &Control) -> Self {
        let mut checks: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (tool, all) in &catalog.checks {
            let ours = all.iter().filter(|(_, controls)| controls.contains(&index));
            let ours: Vec<_> = ours.map(|(check, _)| check.clone()).collect();
            if !ours.is_empty() {
                checks.insert(tool.clone(), ours);
            }
        }
        let mut requirements: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for framework in &catalog.frameworks {
            let has = |it: &&Row| it.controls.iter().any(|it| it.control == index);
            let rows = framework.rows.iter().filter(has).map(|it| it.reference.clone());
            let rows: Vec<_> = rows.collect();
            if !rows.is_empty() {
                requirements.insert(framework.id.as_str().to_owned(), rows);
            }
        }
        Self {
            control_code: control.code.clone(),
            title: control.title.clone(),
            category: catalog.categories[control.category].name.clone(),
            severity: SeverityView(control.severity),
            requires: control.requires.clone(),
            decided_by: control.decided_by.iter().map(|it| it.as_str().to_owned()).collect(),
            platforms: control.platforms.clone(),
            max_age_days: control.max_age_days,
            question: control.question.clone().into(),
            risk: control.risk.clone(),
            remediation: control.remediation.clone(),
            checks,
            requirements,
        }
    }
}

pub struct CatalogReads;

#[OpenApi(prefix_path = "/api", tag = "Group::Management")]
impl CatalogReads {
    /// List the frameworks
    ///
    /// Any valid API key.
    #[oai(path = "/frameworks", method = "get", operation_id = "list_frameworks")]
    async fn list_frameworks(
        &self,
        web: Held<&Arc<Web>>,
        _by: By<ViewCatalog>,
    ) -> Result<Data<Vec<FrameworkView>>, Failure> {
        let catalog = &web.app.catalog;
        let views = catalog.frameworks.iter().map(|it| FrameworkView::of(catalog, it));
        Ok(Data::of(&views.collect()))
    }

    /// Show a framework
    ///
    /// Its rows in the framework's order, with the controls that are mapped to them and why. Any valid API key.
    #[oai(path = "/frameworks/:frameworkId", method = "get", operation_id = "get_framework")]
    async fn get_framework(
        &self,
        web: Held<&Arc<Web>>,
        _by: By<ViewCatalog>,
        /// A framework identifier, without regard to case.
        #[oai(name = "frameworkId")]
        framework_id: Path<Raw<Text>>,
    ) -> Result<Data<FrameworkDetailView>, Failure> {
        let id: FrameworkId = framework_id.text.parse()?;
        let catalog = &web.app.catalog;
        let framework = catalog.framework(id);
        let rows = framework.rows.iter().map(|it| RowView::of(catalog, framework, it));
        Ok(Data::of(&FrameworkDetailView {
            framework_id: id.as_str().to_owned(),
            framework_name: framework.name.clone(),
            framework_version: framework.version.clone(),
            rows: rows.collect(),
        }))
    }

    /// List the technical controls
    ///
    /// Any valid API key.
    #[oai(path = "/controls", method = "get", operation_id = "list_controls")]
    async fn list_controls(
        &self,
        web: Held<&Arc<Web>>,
        _by: By<ViewCatalog>,
    ) -> Result<Data<Vec<ControlView>>, Failure> {
        let catalog = &web.app.catalog;
        let controls = catalog.controls.iter().enumerate();
        let views = controls.map(|(index, it)| ControlView::of(catalog, index, it));
        Ok(Data::of(&views.collect()))
    }
}
