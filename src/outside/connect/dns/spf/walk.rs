//! The evaluation of an SPF record for mail that nothing matches, which needs the most look-ups.

use super::record::{self, Directive, Mechanism, Qualifier, Target};
use crate::connect::dns::answer::{Answer, Halt, RecordKind, Sheet};

/// Receivers give up beyond this (RFC 7208, section 4.6.4).
pub(super) const N_LOOKUPS_MAX: u32 = 10;
/// Look-ups without a result, beyond which receivers give up.
const N_VOID_MAX: u32 = 2;
/// Servers behind one `mx`, beyond which receivers give up.
const N_SERVERS_MAX: usize = 10;

pub(super) enum Stop {
    Halt(Halt),
    /// Receivers ignore the record (permerror). The text says why.
    Broken(String),
}

impl From<Halt> for Stop {
    fn from(halt: Halt) -> Self {
        Self::Halt(halt)
    }
}

/// Where a record ends.
pub(super) enum End {
    All(Qualifier),
    /// Neither `all` nor a redirect.
    Open,
    /// A redirect whose target depends on the mail.
    Unknown,
}

/// Addresses behind `a` and servers behind `mx` count as void only if there are none of either family.
pub(super) struct Walk<'a> {
    sheet: &'a Sheet<'a>,
    pub(super) n_lookups: u32,
    n_void: u32,
    /// The names on the way here, to tell a loop.
    way: Vec<String>,
    /// The term by which anyone may send, if there is one.
    pub(super) open: Option<String>,
    /// An include whose target depends on the mail was not followed.
    pub(super) has_macro: bool,
}

impl<'a> Walk<'a> {
    pub(super) fn new(sheet: &'a Sheet<'a>) -> Self {
        Self { sheet, n_lookups: 0, n_void: 0, way: Vec::new(), open: None, has_macro: false }
    }

    pub(super) fn record(&mut self, name: &str, text: &str) -> Result<End, Stop> {
        let name = name.to_ascii_lowercase();
        if self.way.contains(&name) {
            return Err(Stop::Broken(format!("{name} includes itself")));
        }
        let record = record::parse(text).map_err(|why| self.broken(&name, &why))?;
        self.prefetch(&name, &record.directives);
        self.way.push(name.clone());
        for directive in &record.directives {
            if directive.mechanism == Mechanism::All {
                self.way.pop();
                return Ok(End::All(directive.qualifier));
            }
            self.directive(&name, directive)?;
        }
        let end = match &record.redirect {
            None => End::Open,
            Some(Target::Macro) => {
                self.count()?;
                End::Unknown
            }
            Some(Target::Name(target)) => {
                self.count()?;
                let text = self.policy(target, "the redirect to")?;
                self.record(target, &text)?
            }
        };
        self.way.pop();
        Ok(end)
    }

    fn directive(&mut self, name: &str, directive: &Directive) -> Result<(), Stop> {
        let passes = directive.qualifier == Qualifier::Pass;
        if passes && directive.is_wide {
            self.open.get_or_insert_with(|| directive.text.clone());
        }
        match &directive.mechanism {
            Mechanism::All | Mechanism::Ip => Ok(()),
            Mechanism::Include(Target::Macro) => {
                self.has_macro = true;
                self.count()
            }
            Mechanism::Include(Target::Name(target)) => {
                self.count()?;
                let text = self.policy(target, "the include of")?;
                let end = self.record(target, &text)?;
                if passes && matches!(end, End::All(Qualifier::Pass)) {
                    self.open.get_or_insert_with(|| directive.text.clone());
                }
                Ok(())
            }
            Mechanism::Ptr
            | Mechanism::A(Some(Target::Macro))
            | Mechanism::Mx(Some(Target::Macro))
            | Mechanism::Exists(Target::Macro) => self.count(),
            Mechanism::A(target) => {
                self.count()?;
                self.addresses(named(target.as_ref(), name))
            }
            Mechanism::Exists(Target::Name(target)) => {
                self.count()?;
                let records = self.sheet.look(RecordKind::A, target)?;
                self.void(records.is_empty())
            }
            Mechanism::Mx(target) => {
                self.count()?;
                let target = named(target.as_ref(), name);
                let n_servers = self.sheet.look(RecordKind::Mx, target)?.len();
                if N_SERVERS_MAX < n_servers {
                    let why = format!("mx of {target} has more than {N_SERVERS_MAX} servers");
                    return Err(Stop::Broken(why));
                }
                self.void(n_servers == 0)
            }
        }
    }

    fn addresses(&mut self, name: &str) -> Result<(), Stop> {
        let ipv4 = self.sheet.look(RecordKind::A, name);
        let ipv6 = self.sheet.look(RecordKind::Aaaa, name);
        let (ipv4, ipv6) = (ipv4?, ipv6?);
        self.void(ipv4.is_empty() && ipv6.is_empty())
    }

    /// The one SPF record of a name that another record refers to.
    fn policy(&self, name: &str, by: &str) -> Result<String, Stop> {
        let records = self.sheet.look(RecordKind::Txt, name)?;
        let found: Vec<&String> = records.iter().filter(|it| record::is_spf(it)).collect();
        match found[..] {
            [one] => Ok(one.clone()),
            [] => {
                let answer = self.sheet.find(RecordKind::Txt, name);
                let what = match answer {
                    Some(Answer::NoName) => "a name that does not exist",
                    _ => "a name without an SPF record",
                };
                Err(Stop::Broken(format!("{by} {name} leads to {what}")))
            }
            _ => Err(Stop::Broken(format!("{by} {name} leads to several SPF records"))),
        }
    }

    fn count(&mut self) -> Result<(), Stop> {
        self.n_lookups += 1;
        if N_LOOKUPS_MAX < self.n_lookups {
            let why = format!("it needs more than {N_LOOKUPS_MAX} look-ups");
            return Err(Stop::Broken(why));
        }
        Ok(())
    }

    fn void(&mut self, is_void: bool) -> Result<(), Stop> {
        self.n_void += u32::from(is_void);
        if N_VOID_MAX < self.n_void {
            let why = format!("more than {N_VOID_MAX} of its look-ups find nothing");
            return Err(Stop::Broken(why));
        }
        Ok(())
    }

    fn broken(&self, name: &str, why: &str) -> Stop {
        let at = if self.way.is_empty() { String::new() } else { format!("in {name}, ") };
        Stop::Broken(format!("{at}{why}"))
    }

    /// Has everything asked at once that this record is going to need.
    fn prefetch(&self, name: &str, directives: &[Directive]) {
        let n_max = usize::try_from(N_LOOKUPS_MAX + 1 - self.n_lookups).expect("a small number");
        let needed = directives.iter().filter(|it| it.mechanism != Mechanism::Ip).take(n_max);
        for directive in needed {
            let (kind, name) = match &directive.mechanism {
                Mechanism::Include(Target::Name(target)) => (RecordKind::Txt, target.as_str()),
                Mechanism::Exists(Target::Name(target)) => (RecordKind::A, target.as_str()),
                Mechanism::Mx(target @ (None | Some(Target::Name(_)))) => {
                    (RecordKind::Mx, named(target.as_ref(), name))
                }
                Mechanism::A(target @ (None | Some(Target::Name(_)))) => {
                    self.sheet.find(RecordKind::Aaaa, named(target.as_ref(), name));
                    (RecordKind::A, named(target.as_ref(), name))
                }
                Mechanism::All => return,
                Mechanism::Include(Target::Macro)
                | Mechanism::Exists(Target::Macro)
                | Mechanism::A(Some(Target::Macro))
                | Mechanism::Mx(Some(Target::Macro))
                | Mechanism::Ptr
                | Mechanism::Ip => continue,
            };
            self.sheet.find(kind, name);
        }
    }
}

fn named<'a>(target: Option<&'a Target>, own: &'a str) -> &'a str {
    match target {
        Some(Target::Name(name)) => name,
        Some(Target::Macro) | None => own,
    }
}
