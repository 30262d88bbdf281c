//! The catalog: frameworks and their requirements, and the technical controls.

use std::collections::BTreeMap;
use std::sync::Arc;

use poem::web::Data as Held;
use poem_openapi::OpenApi;
use poem_openapi::param::Path;
use schemars::JsonSchema;
use serde::Serialize;

use crate::api::edge::caller::By;
use crate::api::edge::right::ViewCatalog;
use crate::api::wire::framework::FrameworkName;
use crate::api::wire::param::{Raw, Text};
use crate::api::wire::problem::Failure;
use crate::api::wire::reply::{Data, Null, Rendered};
use crate::api::wire::view::{
    DeciderView, LevelView, MappingRoleView, PopulationView, SeverityView,
};
use crate::api::{Group, Web};
use crate::blocking;
use crate::engine::catalog::facet::Facet;
use crate::engine::catalog::{Catalog, ControlCheck};
use crate::engine::framework::{Framework, FrameworkRow, Level, Mapping};
use crate::error;

/// A framework in the list.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Framework")]
#[serde(rename_all = "camelCase")]
pub struct FrameworkView {
    framework_id: FrameworkName,
    framework_name: String,
    framework_version: String,
    /// How many requirements the framework has.
    requirements: u32,
    /// How many detail rows it has below them.
    details: u32,
    /// Requirements with at least one control that is decided without a person.
    automatic: u32,
}

impl FrameworkView {
    fn of(catalog: &Catalog, framework: &Framework) -> Self {
        let count = |wanted: &dyn Fn(&&FrameworkRow) -> bool| {
            u32::try_from(framework.rows.iter().filter(wanted).count()).unwrap_or(u32::MAX)
        };
        let is_automatic = |it: &Mapping| catalog.controls[it.control].is_automatic();
        Self {
            framework_id: FrameworkName(framework.id),
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

/// A framework with its requirements.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "FrameworkDetail")]
#[serde(rename_all = "camelCase")]
pub struct FrameworkDetailView {
    framework_id: FrameworkName,
    framework_name: String,
    framework_version: String,
    rows: Vec<RowView>,
}

/// One requirement or detail of a framework, and the controls that are mapped to it.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "FrameworkRow")]
#[serde(rename_all = "camelCase")]
pub struct RowView {
    requirement: String,
    level: LevelView,
    /// The row that also uses this row's controls.
    parent: Null<String>,
    title: String,
    description: String,
    /// The framework's readiness is at most 69 while this row is not compliant.
    gate: bool,
    /// The question of the client's profile that decides whether the row applies. Null: it always applies.
    applies: Null<String>,
    controls: Vec<MappingView>,
}

/// Why a control is mapped to a row.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "ControlMapping")]
#[serde(rename_all = "camelCase")]
pub struct MappingView {
    control_code: String,
    role: MappingRoleView,
    why: String,
}

impl RowView {
    fn of(catalog: &Catalog, framework: &Framework, row: &FrameworkRow) -> Self {
        let mapping = |it: &Mapping| MappingView {
            control_code: catalog.controls[it.control].code.clone(),
            role: MappingRoleView(it.role),
            why: it.why.clone(),
        };
        Self {
            requirement: row.reference.clone(),
            level: LevelView(row.level),
            parent: row.parent.map(|it| framework.rows[it].reference.clone()).into(),
            title: row.title.clone(),
            description: row.description.clone(),
            gate: row.gate,
            applies: row.applies.clone().into(),
            controls: row.controls.iter().map(mapping).collect(),
        }
    }
}

/// A part of a control.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Facet")]
#[serde(rename_all = "camelCase")]
pub struct FacetView {
    name: String,
    /// What is true if it is met.
    says: String,
    /// One subject that fails makes the control non-compliant.
    one_is_enough: bool,
    /// The checks that look at it, by tool. Some show it only together with others.
    checks: BTreeMap<String, Vec<String>>,
}

/// A technical control.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Control")]
#[serde(rename_all = "camelCase")]
pub struct ControlView {
    control_code: String,
    title: String,
    category: String,
    severity: SeverityView,
    /// What is true if the control is met.
    requires: String,
    /// What can decide the control.
    decided_by: Vec<DeciderView>,
    /// Questions of the client's profile: the control does not apply if the client uses none of these platforms. Empty: it
    /// always applies.
    platforms: Vec<String>,
    /// How long an observation of the control counts.
    max_age_days: u16,
    /// Of what each member must be seen.
    over: PopulationView,
    /// The parts that no single check sees together: the control is met once all of them are. Empty: it has none.
    facets: Vec<FacetView>,
    /// The question that a person answers to attest the control.
    question: Null<String>,
    risk: String,
    remediation: String,
    /// The checks that look at the control, by tool.
    checks: BTreeMap<String, Vec<String>>,
    /// Those of them whose success shows too little to decide the control, by tool. Their failure counts.
    gap_checks: BTreeMap<String, Vec<String>>,
    /// How many different checks must have been seen, without those of `gapChecks`, until what passes decides the control.
    /// Failures count from the first on.
    checks_min: u16,
    /// The requirements that the control is mapped to, by framework.
    requirements: BTreeMap<String, Vec<String>>,
}

impl ControlView {
    /// `decided_by_checks`: the checks that decide it.
    fn of(catalog: &Catalog, index: usize, decided_by_checks: &[ControlCheck<'_>]) -> Self {
        let control = &catalog.controls[index];
        let by_tool = |counts: &dyn Fn(&ControlCheck<'_>) -> bool| {
            let mut checks: BTreeMap<String, Vec<String>> = BTreeMap::new();
            for it in decided_by_checks.iter().filter(|it| counts(it)) {
                checks.entry(it.tool.to_owned()).or_default().push(it.check.to_owned());
            }
            checks
        };
        let facet = |(index, it): (usize, &Facet)| FacetView {
            name: it.name.clone(),
            says: it.says.clone(),
            one_is_enough: it.is_any,
            checks: by_tool(&|it| it.shows.has(index)),
        };
        let facets = control.facets.iter().enumerate().map(facet).collect();
        let mut requirements: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for framework in &catalog.frameworks {
            let has = |it: &&FrameworkRow| it.controls.iter().any(|it| it.control == index);
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
            decided_by: control.decided_by.iter().map(|it| DeciderView(*it)).collect(),
            platforms: control.platforms.clone(),
            max_age_days: control.max_age_days,
            over: PopulationView(control.over),
            facets: if control.facets.len() == 1 { Vec::new() } else { facets },
            question: control.question.clone().into(),
            risk: control.risk.clone(),
            remediation: control.remediation.clone(),
            checks: by_tool(&|_| true),
            gap_checks: by_tool(&|it| it.shows.is_empty()),
            checks_min: control.n_checks_min,
            requirements,
        }
    }
}

pub struct CatalogReads;

#[OpenApi(prefix_path = "/api", tag = "Group::Management")]
impl CatalogReads {
    /// List frameworks
    ///
    /// Any valid API key.
    #[oai(path = "/frameworks", method = "get", operation_id = "list_frameworks")]
    async fn list_frameworks(
        &self,
        web: Held<&Arc<Web>>,
        _by: By<ViewCatalog>,
    ) -> Result<Data<Vec<FrameworkView>>, Failure> {
        let view = |catalog: &Catalog| {
            let views = catalog.frameworks.iter().map(|it| FrameworkView::of(catalog, it));
            Ok(views.collect())
        };
        write(&web, view).await
    }

    /// Get a framework
    ///
    /// Its requirements and details in the framework's order, with the controls that are mapped to them and why. Any valid API key.
    #[oai(path = "/frameworks/:frameworkId", method = "get", operation_id = "get_framework")]
    async fn get_framework(
        &self,
        web: Held<&Arc<Web>>,
        _by: By<ViewCatalog>,
        /// A framework identifier, in upper or lower case.
        #[oai(name = "frameworkId")]
        framework_id: Path<Raw<Text>>,
    ) -> Result<Data<FrameworkDetailView>, Failure> {
        let name = framework_id.0.text;
        let view = move |catalog: &Catalog| {
            let framework = catalog.framework_named(&name)?;
            let rows = framework.rows.iter().map(|it| RowView::of(catalog, framework, it));
            Ok(FrameworkDetailView {
                framework_id: FrameworkName(framework.id),
                framework_name: framework.name.clone(),
                framework_version: framework.version.clone(),
                rows: rows.collect(),
            })
        };
        write(&web, view).await
    }

    /// List technical controls
    ///
    /// Any valid API key.
    #[oai(path = "/controls", method = "get", operation_id = "list_controls")]
    async fn list_controls(
        &self,
        web: Held<&Arc<Web>>,
        _by: By<ViewCatalog>,
    ) -> Result<Data<Vec<ControlView>>, Failure> {
        let view = |catalog: &Catalog| {
            let checks = catalog.checks_of_controls();
            let checks = checks.iter().enumerate();
            Ok(checks.map(|(index, it)| ControlView::of(catalog, index, it)).collect())
        };
        write(&web, view).await
    }
}

/// Writes an answer off the async threads, as it is long.
async fn write<T: Serialize>(
    web: &Web,
    view: impl FnOnce(&Catalog) -> error::Result<T> + Send + 'static,
) -> Result<Data<T>, Failure> {
    let catalog = web.app.catalog();
    let write = move || Ok(Rendered::data(&view(&catalog)?));
    Ok(Data::rendered(blocking::run((), write).await?))
}
