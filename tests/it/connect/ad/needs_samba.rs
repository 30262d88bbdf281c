//! The tests that need Samba, a domain controller that others wrote.

use std::fs::File;
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use posture::connect::ad::{AdConfig, Directory, PORT, judge, read};
use posture::connect::reading::{Group, JudgedStatus, StreamState};
use posture::egress::{Egress, EgressPolicy, Trust, TrustedRoots};
use posture::engine::identity::LastSignIn;
use rcgen::{CertificateParams, KeyPair};
use rustix::fd::AsFd;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use tempfile::TempDir;
use tokio::runtime::Builder;
use tokio::time::Instant;

use super::{LONG, connection, find, states, stream};
use crate::harness::process::wait_until;
use crate::harness::tls::authority;
use crate::harness::tool;

const WAIT: Duration = Duration::from_mins(3);
const HOST: &str = "dc1.acme.test";
const N_MORE: usize = 1_100;

/// In namespaces of its own: its files lie over the machine's, its ports are those that it always has, and all of it ends
/// with its first process.
const SCRIPT: &str = r#"
set -eu
root=$1 folder=$2
mount -t overlay -o "lowerdir=$root/usr:/usr" posture-test /usr
mount -t tmpfs posture-test /run
ip link set lo up
samba-tool domain provision --targetdir="$folder" --realm=ACME.TEST --domain=ACME --server-role=dc \
    --dns-backend=SAMBA_INTERNAL --adminpass=Adm1n.Secret --host-name=dc1 --host-ip=127.0.0.1 \
    --option='interfaces=lo' --option='bind interfaces only=yes' --option='vfs objects=dfs_samba4 acl_xattr xattr_tdb'
conf=$folder/etc/smb.conf
change() { samba-tool "$@" -s "$conf" -H "$folder/private/sam.ldb"; }
change user create reader Read3r.Secret
change user create anna Anna.Secret1 --given-name=Anna --surname=Berg
change user create olga Olga.Secret1
change user disable olga
change group add Helpdesk
change group addmembers Helpdesk anna
change group addmembers 'Domain Admins' Helpdesk
change computer create SRV1
change domain passwordsettings set --min-pwd-length=14 --history-length=24 --account-lockout-threshold=5
change domain passwordsettings pso create Kiosk 10 --min-pwd-length=8 --account-lockout-threshold=20
change domain passwordsettings pso apply Kiosk anna
/usr/bin/python3 - "$folder" "$3" <<'END'
import sys
from samba.auth import system_session
from samba.param import LoadParm
from samba.samdb import SamDB
folder, n = sys.argv[1], int(sys.argv[2])
lp = LoadParm()
lp.load(folder + '/etc/smb.conf')
db = SamDB(url=folder + '/private/sam.ldb', session_info=system_session(), lp=lp)
db.transaction_start()
for i in range(n):
    name = f'more{i}'
    db.add({'dn': f'CN={name},CN=Users,DC=acme,DC=test', 'objectClass': 'user', 'sAMAccountName': name})
db.add_remove_group_members('Helpdesk', [f'more{i}' for i in range(3)])
db.transaction_commit()
END
exec samba -s "$conf" -i -M single --option='server services=ldap' --option="pid directory=$folder" \
    --option="ncalrpc dir=$folder/ncalrpc" --option="log file=$folder/log" \
    --option="tls keyfile=$folder/key.pem" --option="tls certfile=$folder/cert.pem" --option="tls cafile=$folder/ca.pem"
"#;

/// Killed when dropped.
struct Samba {
    child: Child,
    folder: TempDir,
    ca: String,
}

impl Samba {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (issuer, key) = (authority(), KeyPair::generate().unwrap());
        let params = CertificateParams::new(vec![HOST.to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &issuer).unwrap();
        let ca = issuer.pem();
        for (name, pem) in
            [("ca.pem", &ca), ("cert.pem", &certificate.pem()), ("key.pem", &key.serialize_pem())]
        {
            let path = folder.path().join(name);
            std::fs::write(&path, pem).unwrap();
            let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
            std::fs::set_permissions(&path, mode).unwrap();
        }
        let said = File::create(folder.path().join("said")).unwrap();
        let child = Command::new("unshare")
            .args(["--mount", "--net", "--pid", "--mount-proc", "--fork", "--kill-child"])
            .args(["bash", "-c", SCRIPT, "samba"])
            .arg(tool::samba())
            .arg(folder.path())
            .arg(N_MORE.to_string())
            .stdin(Stdio::null())
            .stdout(said.try_clone().unwrap())
            .stderr(said)
            .spawn()
            .unwrap();
        let mut samba = Self { child, folder, ca };
        let is_up = wait_until(WAIT, || {
            if samba.child.try_wait().unwrap().is_some() {
                return true;
            }
            samba.first_process().is_some()
                && samba.within(|| TcpStream::connect(("127.0.0.1", PORT)).is_ok())
        });
        let said = samba.said();
        assert!(
            is_up && samba.child.try_wait().unwrap().is_none(),
            "Samba does not start:\n{said}"
        );
        samba
    }

    fn said(&self) -> String {
        let said = std::fs::read(self.folder.path().join("said")).unwrap();
        String::from_utf8_lossy(&said).into_owned()
    }

    /// The one that has the namespaces.
    fn first_process(&self) -> Option<String> {
        let id = self.child.id();
        let children = std::fs::read_to_string(format!("/proc/{id}/task/{id}/children")).ok()?;
        let first = children.split_whitespace().next()?.to_owned();
        Path::new(&format!("/proc/{first}/ns/net")).exists().then_some(first)
    }

    /// On a thread of its own that is in the network of Samba.
    fn within<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        let process = self.first_process().unwrap();
        let namespace = File::open(format!("/proc/{process}/ns/net")).unwrap();
        std::thread::scope(|scope| {
            let entered = scope.spawn(move || {
                let kind = Some(LinkNameSpaceType::Network);
                move_into_link_name_space(namespace.as_fd(), kind).unwrap();
                work()
            });
            entered.join().unwrap()
        })
    }

    fn read(&self, user: &str, password: &str, trust: Trust) -> Directory {
        let config = AdConfig {
            host: HOST.to_owned(),
            port: PORT,
            user: user.to_owned(),
            password: password.to_owned(),
            trust,
        };
        self.within(|| {
            let policy = EgressPolicy {
                allow_private_networks: vec!["127.0.0.0/8".parse().unwrap()],
                ..EgressPolicy::default()
            };
            let names = |_: &str, port: u16| Ok(vec![([127, 0, 0, 1], port).into()]);
            let egress = Egress::with_resolver(policy, LONG, 4, names).unwrap();
            let runtime = Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async { read(&config, &egress, Instant::now() + LONG).await })
        })
    }

    fn trusted(&self) -> Trust {
        Trust::Authorities(TrustedRoots::parse(self.ca.as_bytes()).unwrap())
    }
}

impl Drop for Samba {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Why nothing was read.
fn refusal(directory: &Directory) -> String {
    assert!(directory.streams.iter().all(|it| it.state == StreamState::Failed), "{directory:?}");
    directory.streams[0].reason.clone()
}

fn judged(directory: &Directory) -> Vec<Group> {
    judge(directory, posture::clock::Clock::System.now())
}

#[test]
#[ignore = "needs Samba"]
fn a_domain_of_others_is_read() {
    let samba = Samba::start();
    let directory = samba.read("reader@acme.test", "Read3r.Secret", samba.trusted());
    is_read_by_an_ordinary_account(&directory);
    let directory = samba.read("ACME\\Administrator", "Adm1n.Secret", samba.trusted());
    is_read_by_an_administrator(&directory);
    for (user, password, why) in [
        ("reader@acme.test", "wrong", "the user name or the password is wrong"),
        ("nobody@acme.test", "wrong", "the user name or the password is wrong"),
        ("olga@acme.test", "Olga.Secret1", "the account is disabled"),
    ] {
        let refused = refusal(&samba.read(user, password, samba.trusted()));
        assert!(refused.starts_with("the sign-in was refused"), "{user}: {refused}");
        assert!(refused.contains(why), "{user}: {refused}");
    }
    let shown = refusal(&samba.read("reader", "secret", Trust::Public));
    assert!(shown.contains("no trusted authority issued it") && shown.contains(HOST), "{shown}");
    let fingerprint = shown.split("fingerprint ").nth(1).unwrap().split('.').next().unwrap();
    let pinned = Trust::Pinned(fingerprint.parse().unwrap());
    let directory = samba.read("reader@acme.test", "Read3r.Secret", pinned);
    assert!(directory.users.is_some(), "{:?}", directory.streams);
    through_the_front_door(&samba, fingerprint);
    let other = Trust::Authorities(TrustedRoots::parse(authority().pem().as_bytes()).unwrap());
    let refused = refusal(&samba.read("reader@acme.test", "Read3r.Secret", other));
    assert!(refused.contains(fingerprint), "{refused}");
}

/// The server runs in the network of Samba.
fn through_the_front_door(samba: &Samba, fingerprint: &str) {
    samba.within(|| {
        let folder = connection::folder("Read3r.Secret");
        let _server = folder.serve();
        let client = folder.client("Acme");
        let id = connection::add(&folder, PORT, "reader@acme.test");
        let why = connection::reason(&folder, &id);
        assert!(why.contains(fingerprint), "{why}");
        let trust = format!("fingerprint={fingerprint}");
        let password = "password=Read3r.Secret";
        folder.ok(&["connect", "set", &id, "--set", &trust, "--set", password]);
        let synced = folder.run(&["connect", "sync", &id]);
        assert!(synced.err.contains("not everything could be read"), "{}", synced.err);
        let now = connection::shown(&folder, &id);
        assert_eq!(now["health"], "degraded", "the policies for some accounts are hidden: {now}");
        assert_eq!(connection::status(&folder, &client, "ID-07"), "compliant");
        assert_eq!(connection::status(&folder, &client, "ID-35"), "non_compliant");
        folder.ok(&["connect", "set", &id, "--set", "user=nobody@acme.test"]);
        folder.run(&["connect", "sync", &id]);
        let why = connection::reason(&folder, &id);
        assert!(why.contains("the user name or the password is wrong"), "{why}");
        assert_eq!(connection::status(&folder, &client, "ID-07"), "compliant", "nothing changes");
    });
}

fn is_read_by_an_ordinary_account(directory: &Directory) {
    for name in ["users", "groups", "computers", "policy"] {
        let found = stream(directory, name);
        assert_eq!(found.state, StreamState::Complete, "{found:?}");
    }
    assert_eq!(directory.domain, "acme.test");
    let users = directory.users.as_ref().unwrap();
    assert_eq!(users.len(), N_MORE + 6, "in pages, with Administrator, Guest and krbtgt");
    let of = |name: &str| users.iter().find(|it| it.short_name == name).unwrap();
    assert_eq!(of("anna").display_name.as_deref(), Some("Anna Berg"));
    assert_eq!(of("anna").last_sign_in, LastSignIn::Never);
    assert!(matches!(of("reader").last_sign_in, LastSignIn::At(_)), "it has just signed in");
    assert!(of("olga").flags.is_disabled() && of("krbtgt").is_service);
    let policy = directory.policy.as_ref().unwrap();
    assert_eq!((policy.rules.length_min, policy.rules.n_wrong_max), (14, 5));
    assert_eq!(policy.n_computers_to_add, Some(10));
    let computers = directory.computers.as_ref().unwrap();
    let mut names: Vec<&str> = computers.iter().map(|it| it.name.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["DC1", "SRV1"]);

    let groups = judged(directory);
    let accounts = groups[0].accounts.as_ref().unwrap();
    let anna = accounts.iter().find(|it| it.user == "anna@acme.test").unwrap();
    assert_eq!(anna.roles, ["Administrators", "Domain Admins"], "through Helpdesk");
    let admins = find(&groups, "domain_administrators").unwrap();
    assert_eq!(admins.status, JudgedStatus::Compliant, "{admins:?}");
    let first = admins.findings.lines().next().unwrap();
    assert!(first.contains("anna@acme.test") && first.contains("Administrator"), "{first}");
    assert!(find(&groups, "machine_account_quota").is_some());
    let settings = stream(directory, "password_settings");
    assert_eq!(settings.state, StreamState::Denied, "{settings:?}");
    assert!(find(&groups, "account_lockout").is_none(), "a policy may be weaker");
}

fn is_read_by_an_administrator(directory: &Directory) {
    let all = states(directory);
    assert!(all.iter().all(|it| it.1 == StreamState::Complete), "{:?}", directory.streams);
    let settings = &directory.password_settings.as_ref().unwrap()[0];
    assert_eq!((&*settings.name, settings.rules.length_min), ("Kiosk", 8));
    assert!(settings.is_assigned);
    let groups = judged(directory);
    for (check, why) in [
        ("password_policy", "policy Kiosk: minimum length 8"),
        ("account_lockout", "policy Kiosk: locks after 20 wrong passwords"),
    ] {
        let found = find(&groups, check).unwrap();
        assert_eq!(found.status, JudgedStatus::NonCompliant);
        assert_eq!(found.findings.lines().next(), Some(why), "{found:?}");
    }
}
