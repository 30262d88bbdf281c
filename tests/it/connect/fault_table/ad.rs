//! Active Directory: the users of a domain, over LDAP.

use std::sync::{Arc, Mutex};

use super::fault::{Fault, Leaves};
use super::vendor::{Connected, Vendor, wait_until_idle};
use crate::connect::ad::connection::{add, folder};
use crate::connect::ad::domain::{World, user};
use crate::connect::ad::server::{Asked, Row, Server, done, end_after_this, page};

/// Rows of a page.
const N_PAGE: usize = 5;
/// Rows of a page of a list without an end.
const N_ENDLESS: usize = 20_000;

struct Script {
    world: World,
    fault: Option<Fault>,
}

pub struct Domain {
    server: Server,
    script: Arc<Mutex<Script>>,
}

/// The first of them has not been seen for long, and the last two are in every domain.
fn users(world: &World) -> Vec<Row> {
    let mut all = world.users.clone();
    all.extend((2_000..2_005).map(|rid| user(&format!("user{rid}"), rid)));
    all.rotate_left(2);
    all
}

impl Script {
    fn answer(&self, asked: &Asked) -> Vec<u8> {
        let id = asked.id;
        if !asked.wants("pwdLastSet") {
            return self.world.answer(asked);
        }
        let from: usize = asked.cookie().parse().unwrap_or(0);
        match self.fault {
            Some(Fault::Empty) => Vec::new(),
            Some(Fault::Error) => done(id, 51),
            Some(Fault::ForeignLink) => done(id, 10),
            Some(Fault::Html) => b"HTTP/1.1 200 OK\r\n\r\n<html><body>Sign in".to_vec(),
            Some(Fault::Cut) => {
                let whole = self.page(id, from);
                end_after_this();
                whole[..whole.len() / 2].to_vec()
            }
            Some(Fault::SamePage) => self.page(id, 0),
            Some(Fault::Endless) => {
                let rows = (from..from + N_ENDLESS).map(|it| Row::new(&format!("CN={it}")));
                let mut bytes: Vec<u8> = rows.flat_map(|it| it.encode(id)).collect();
                bytes.extend(page(id, &(from + N_ENDLESS).to_string()));
                bytes
            }
            None
            | Some(
                Fault::Busy(_) | Fault::Refused | Fault::OneRowMore | Fault::Clock | Fault::Shorter,
            ) => self.page(id, from),
        }
    }

    fn page(&self, id: i32, from: usize) -> Vec<u8> {
        let users = &self.world.users;
        let until = users.len().min(from + N_PAGE);
        let mut bytes: Vec<u8> = users[from..until].iter().flat_map(|it| it.encode(id)).collect();
        let next = if until < users.len() { until.to_string() } else { String::new() };
        bytes.extend(page(id, &next));
        bytes
    }
}

impl Vendor for Domain {
    const NAME: &'static str = "Active Directory";
    const LIST: &'static str = "users";

    fn start() -> Self {
        let mut world = World::new();
        world.users = users(&world);
        let script = Arc::new(Mutex::new(Script { world, fault: None }));
        let known = Arc::clone(&script);
        let server = Server::start(move |asked| known.lock().unwrap().answer(asked));
        Self { server, script }
    }

    fn connect(&self) -> Connected {
        let folder = folder("secret");
        let server = folder.serve();
        let client = folder.client("Acme");
        let connection = add(&folder, self.server.address.port(), "reader@acme.test");
        folder.write("ca", self.server.pem.as_bytes());
        let password = ["--set-file", "password=password"];
        folder
            .ok(&[&["connect", "set", &connection, "--set-file", "ca=ca"], &password[..]].concat());
        wait_until_idle(&folder, &connection);
        Connected { folder, server, client, connection }
    }

    fn leaves(fault: Fault) -> Leaves {
        match fault {
            Fault::Busy(_) => {
                Leaves::NoSuchFault("a busy server says so, as below, and not when to come back")
            }
            Fault::Refused => Leaves::NoSuchFault("a connection signs in once"),
            Fault::Clock => Leaves::NoSuchFault("a sign-in with a password has no time in it"),
            Fault::OneRowMore => Leaves::Everything,
            Fault::Cut | Fault::Empty => Leaves::OneListLess("closed the connection"),
            Fault::Html => Leaves::OneListLess("the answer of the server is not valid LDAP"),
            Fault::Error => Leaves::OneListLess("the server is busy or starting"),
            Fault::ForeignLink => Leaves::OneListLess("the server refers to another one"),
            Fault::SamePage => Leaves::OneListLess("the server sends the same rows again"),
            Fault::Endless => Leaves::OneListLess("the server sends more than 100000 rows"),
            Fault::Shorter => Leaves::Doubt("account counts", "accounts, and there were"),
        }
    }

    fn break_by(&self, fault: Fault) {
        let mut script = self.script.lock().unwrap();
        if fault == Fault::Shorter {
            script.world.users.drain(..8);
        } else {
            script.fault = Some(fault);
        }
    }

    fn mend(&self) {
        let mut script = self.script.lock().unwrap();
        script.world.users = World::new().users;
        script.world.users = users(&script.world);
        script.fault = None;
    }
}
