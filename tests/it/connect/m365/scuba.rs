//! What `ScubaGear` reads of a tenant by PowerShell, as Graph writes it, and its policies beside our rules.

use std::collections::BTreeMap;

use posture::clock::Time;
use posture::connect::m365::Tenant;
use posture::connect::m365::rules::{Demand, Excluded, FACTS, Match, judge, matches};
use posture::connect::m365::tenant::Policy;
use posture::connect::reading::JudgedStatus;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

/// The names and template ids of the roles that `ScubaGear` calls privileged.
const ROLES: [(&str, &str); 8] = [
    ("Global Administrator", "62e90394-69f5-4237-9190-012177145e10"),
    ("Privileged Role Administrator", "e8611ab8-c189-46e8-94e1-60213ab1f814"),
    ("User Administrator", "fe930be7-5e62-47db-91af-98c3a49a38b1"),
    ("SharePoint Administrator", "f28a1f50-f6e7-4571-818b-6a12f2af6b6c"),
    ("Exchange Administrator", "29232cdf-9323-42fd-ade2-1d097af3e4de"),
    ("Hybrid Identity Administrator", "8ac3fc64-6eca-42ea-9e69-59f4c7b60eb2"),
    ("Application Administrator", "9b895d92-2cd3-44c7-9d02-a6ac2d5ea5c3"),
    ("Cloud Application Administrator", "158c047a-c907-4556-b7ef-446551a6b5f7"),
];

/// Its answer to a policy, and where our control deliberately answers otherwise.
pub struct Answer {
    pub is_met: bool,
    pub deliberate: Option<&'static str>,
}

pub const EMERGENCY: &str = "a policy may leave out two accounts for emergencies";
pub const NARROWED: &str = "a policy with further conditions does not hold for all";
pub const FOUR: &str = "at most four Global Administrators, not eight";
pub const NO_ONE: &str = "that no one can invite guests is stricter than what is asked for";

/// The first letter of each name in lower case, and times as Graph writes them.
fn lowered(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let lower = |name: &String| {
                let mut rest = name.chars();
                let first = rest.next().map(|it| it.to_ascii_lowercase());
                first.into_iter().chain(rest).collect::<String>()
            };
            let fields = fields.iter().map(|(name, it)| (lower(name), lowered(it)));
            Value::Object(fields.collect::<Map<_, _>>())
        }
        Value::Array(items) => Value::Array(items.iter().map(lowered).collect()),
        Value::String(text) => Value::String(time(text).unwrap_or_else(|| text.clone())),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

fn time(text: &str) -> Option<String> {
    let ms: i64 = text.strip_prefix("/Date(")?.strip_suffix(")/")?.parse().unwrap();
    let is_never = ms < 0;
    let time = Time::EPOCH.plus_ms(ms).to_string();
    Some(if is_never { "0001-01-01T00:00:00Z".to_owned() } else { time })
}

/// One alone is not in a list, and none may be null.
fn list(value: &Value) -> Vec<Value> {
    match value {
        Value::Null => Vec::new(),
        Value::Array(items) => items.clone(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
            vec![value.clone()]
        }
    }
}

fn rows<T: DeserializeOwned>(values: &[Value]) -> Vec<T> {
    values.iter().map(|it| serde_json::from_value(it.clone()).unwrap()).collect()
}

fn row<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

/// Returns the tenant that an input of `ScubaGear` describes. It lists no users but administrators, so there are none to look
/// exclusions up in.
pub fn tenant(input: &Value) -> Tenant {
    let mut tenant = Tenant { group_members: Some(BTreeMap::new()), ..Tenant::default() };
    if let Some(it) = input.get("conditional_access_policies") {
        tenant.policies = Some(policies(input, it));
    }
    if let Some(plans) = input.get("service_plans") {
        let plans = lowered(&json!(list(plans)));
        let sku = json!({"skuId": "sku", "capabilityStatus": "Enabled", "servicePlans": plans});
        tenant.skus = Some(rows(&[sku]));
    }
    if let Some(it) = input["default_app_management_policy"].get(0) {
        tenant.app_management = Some(row(lowered(it)));
    }
    if let Some(it) = input["authentication_method"].get(0) {
        let mut policy = lowered(&it["authentication_method_policy"]);
        policy["authenticationMethodConfigurations"] =
            lowered(&it["authentication_method_feature_settings"]);
        tenant.methods = Some(row(policy));
    }
    if let Some(it) = input.get("domain_settings") {
        tenant.domains = Some(rows(&lowered(&json!(list(it))).as_array().unwrap().clone()));
    }
    consent(input, &mut tenant);
    roles(input, &mut tenant);
    tenant
}

/// Returns the policies of Conditional Access, with the roles that they are about by their real ids.
pub fn policies(input: &Value, policies: &Value) -> Vec<Policy> {
    let mut policies: Vec<Value> = list(policies).iter().map(lowered).collect();
    for policy in &mut policies {
        let roles = &mut policy["conditions"]["users"]["includeRoles"];
        for role in roles.as_array_mut().into_iter().flatten() {
            *role = json!(template(input, role.as_str().unwrap()));
        }
    }
    rows(&policies)
}

fn consent(input: &Value, tenant: &mut Tenant) {
    if let Some(it) = input["authorization_policies"].get(0) {
        tenant.authorization = Some(row(authorization(it)));
    }
    // Of the real tenants, the classifications are not in the file.
    if input.get("privileged_users").is_none() {
        let risky = list(&input["risky_delegated_permission_classifications"]);
        let names = risky.iter().flat_map(|it| list(&it["RiskyPermClassifications"]));
        let all: Vec<Value> =
            names.map(|it| json!({"permissionName": it, "classification": "low"})).collect();
        tenant.classifications = Some(rows(&all));
    }
    let settings = list(&input["directory_settings"]);
    let mut values = settings.iter().flat_map(|it| list(&it["Values"]));
    if let Some(it) = values.find(|it| it["Name"] == "EnableAdminConsentRequests") {
        let is_on = it["Value"].as_str().unwrap().eq_ignore_ascii_case("true");
        tenant.consent_requests = Some(row(json!({"isEnabled": is_on})));
    }
}

/// In the beta that it reads, one field has another name and place.
fn authorization(policy: &Value) -> Value {
    let mut policy = lowered(policy);
    let assigned = policy["permissionGrantPolicyIdsAssignedToDefaultUserRole"].take();
    policy["defaultUserRolePermissions"]["permissionGrantPoliciesAssigned"] = assigned;
    policy
}

/// Its tests call roles by any id, and one by a name that does not exist: of what it lists, all are privileged.
fn template(input: &Value, id: &str) -> String {
    let mut all = input["privileged_roles"].as_array().into_iter().flatten();
    let Some(role) = all.find(|it| it["RoleTemplateId"] == id) else {
        return id.to_owned();
    };
    template_of(role["DisplayName"].as_str().unwrap()).to_owned()
}

fn template_of(name: &str) -> &'static str {
    ROLES.iter().find(|it| it.0 == name).unwrap_or(&ROLES[7]).1
}

fn roles(input: &Value, tenant: &mut Tenant) {
    let roles = list(&input["privileged_roles"]);
    let users = input["privileged_users"].as_object();
    let mut assignments = Vec::new();
    let mut schedules = Vec::new();
    let mut of_roles = Vec::new();
    let mut definitions: Vec<(&str, &str)> = Vec::new();
    for role in &roles {
        let name = role["DisplayName"].as_str().unwrap();
        let template = template_of(name);
        definitions.push((name, template));
        for it in list(&role["Assignments"]) {
            let mut it = lowered(&it);
            it["roleDefinitionId"] = json!(template);
            assignments.push(it.clone());
            schedules.push(it);
        }
        let of_role = lowered(&json!({"rules": list(&role["Rules"])}));
        of_roles.push(json!({"roleDefinitionId": template, "policy": of_role}));
    }
    if let Some(users) = users {
        assignments.clear();
        let mut rows_of_users = Vec::new();
        for (id, it) in users {
            let synchronized = match it.get("OnPremisesImmutableId") {
                None => json!("unknown"),
                Some(Value::Null) => Value::Null,
                Some(_) => json!(true),
            };
            rows_of_users.push(json!({
                "id": id, "displayName": it["DisplayName"], "accountEnabled": true,
                "onPremisesSyncEnabled": synchronized,
            }));
            for role in list(&it["roles"]) {
                let template = template_of(role.as_str().unwrap());
                assignments.push(json!({"principalId": id, "roleDefinitionId": template}));
            }
        }
        tenant.users = Some(rows(&rows_of_users));
        definitions = ROLES.to_vec();
    }
    let definitions: Vec<Value> = definitions
        .iter()
        .map(|(name, id)| json!({"id": id, "templateId": id, "displayName": name}))
        .collect();
    tenant.role_definitions = Some(rows(&definitions));
    tenant.role_assignments = Some(rows(&assignments));
    tenant.role_eligibilities = Some(Vec::new());
    tenant.role_schedules = Some(rows(&schedules));
    tenant.role_policies = Some(rows(&of_roles));
}

/// Our answer to the question that a policy asks. `None`: we have no rule for it.
pub fn answer(policy: &str, tenant: &Tenant, input: &Value) -> Option<Answer> {
    let policy = policy.split_at(policy.rfind('v')?).0.strip_prefix("MS.AAD.")?;
    let demand = match policy {
        "1.1" => Some(Demand::LegacyBlocked),
        "2.1" => Some(Demand::RiskyUsersBlocked),
        "2.3" => Some(Demand::RiskySignInsBlocked),
        "3.1" => Some(Demand::PhishingResistantForAll),
        "3.2" => Some(Demand::MfaForAll),
        "3.6" => Some(Demand::PhishingResistantForAdmins),
        "3.7" => Some(Demand::ManagedDevice),
        "3.8" => Some(Demand::ManagedRegistration),
        "3.9" => Some(Demand::DeviceCodeBlocked),
        "9.1" => Some(Demand::RiskyAgentsBlocked),
        _ => None,
    };
    if let Some(demand) = demand {
        // A user that the file does not list may be enabled.
        return Some(of_demand(&Tenant { users: None, ..tenant.clone() }, demand));
    }
    let fact = match policy {
        "3.3" => "authenticator_shows_context",
        "3.4" => "methods_migration_complete",
        "3.5" => "weak_methods_off",
        "5.1" => "app_registration_closed",
        "5.2" => "user_consent_restricted",
        "5.3" => "consent_requests_on",
        "5.5" => "app_passwords_refused",
        "5.6" => "app_passwords_limited",
        "5.7" => "app_certificates_limited",
        "6.1" => "passwords_never_expire",
        "7.1" => return Some(of_number(tenant)),
        "7.2" => "least_privilege",
        "7.3" => "admins_cloud_only",
        "7.4" => "roles_time_bound",
        "7.5" => "roles_managed",
        "7.6" => "global_admin_activation_approved",
        "7.7" => "role_assignments_announced",
        "7.8" => "global_admin_activation_announced",
        "7.9" => "other_activations_announced",
        "8.1" => "guest_view_limited",
        "8.2" => "guest_invitations_limited",
        _ => return None,
    };
    let fact = FACTS.iter().find(|it| it.name == fact).unwrap();
    // Its tests have several policies on authorization, of which each must do. A tenant has one.
    let policies = list(&input["authorization_policies"]);
    let others = policies.iter().skip(1).map(|it| {
        let authorization = Some(row(authorization(it)));
        Tenant { authorization, ..tenant.clone() }
    });
    let is_met = others.chain([tenant.clone()]).all(|it| (fact.is_true)(&it) == Some(true));
    let is_none = policies.iter().any(|it| it["AllowInvitesFrom"] == "none");
    let deliberate = (policy == "8.2" && is_none).then_some(NO_ONE);
    Some(Answer { is_met: is_met && deliberate.is_none(), deliberate })
}

/// It asks whether a policy does this, whatever else must be true before the policy applies, and leaves nobody out. Ours is not
/// full where more must be true, and is where two accounts are left out.
fn of_demand(tenant: &Tenant, demand: Demand) -> Answer {
    let at: Time = "2026-06-01T00:00:00Z".parse().unwrap();
    let needs_p2 =
        [Demand::RiskyUsersBlocked, Demand::RiskySignInsBlocked, Demand::RiskyAgentsBlocked];
    let rated = Tenant { users: Some(Vec::new()), ..tenant.clone() };
    let has_p2 = judge(&rated, at).iter().any(|it| it.control == "ID-17");
    let is_off = needs_p2.contains(&demand) && !has_p2;
    let all = if is_off { Vec::new() } else { matches(tenant, demand).unwrap_or_default() };
    let whole = |it: &&Match| it.n_apps_excluded == 0 && it.excluded == Excluded::Nobody;
    let is_either = |it: &Match| {
        let grant = it.policy.grant_controls.as_ref().unwrap();
        let is_or = grant.operator.as_deref() == Some("OR");
        demand != Demand::ManagedDevice || is_or && grant.built_in_controls.0.len() == 2
    };
    let is_met = all.iter().filter(whole).any(is_either);
    let is_full = all.iter().any(|it| it.is_full() == Some(true));
    let deliberate = match (is_met, is_full) {
        (true, false) => Some(NARROWED),
        (false, true) if all.iter().any(|it| matches!(it.excluded, Excluded::Few(_))) => {
            Some(EMERGENCY)
        }
        (false, true) => Some("a compliant device alone is stricter than either of two"),
        (true, true) | (false, false) => None,
    };
    Answer { is_met, deliberate }
}

fn of_number(tenant: &Tenant) -> Answer {
    let at: Time = "2026-06-01T00:00:00Z".parse().unwrap();
    let all = judge(tenant, at);
    let judged = all.iter().find(|it| it.control == "ID-07").unwrap();
    let n = tenant.role_assignments.iter().flatten();
    let n = n.filter(|it| it.role_definition_id.as_deref() == Some(ROLES[0].1)).count();
    let ours = judged.status == JudgedStatus::Compliant;
    let is_between = (5..=8).contains(&n);
    Answer { is_met: ours || is_between, deliberate: is_between.then_some(FOUR) }
}
