//! Tells what a host is from its open ports and their banners, and gives the reason. Pure.

use crate::engine::asset::AssetType;
use crate::engine::network::scan::{Answers, FoundPort};

use AssetType::{Device, FileShare, NetworkDevice, Server, Workstation};

/// Words in a banner or certificate that identify a device, in lower case. The first match decides.
const WORDS: &[(&str, AssetType, &str)] = &[
    ("routeros", NetworkDevice, "a MikroTik router"),
    ("rosssh", NetworkDevice, "a MikroTik router"),
    ("mikrotik", NetworkDevice, "a MikroTik router"),
    ("cisco", NetworkDevice, "Cisco network equipment"),
    ("fortinet", NetworkDevice, "a Fortinet firewall"),
    ("fortigate", NetworkDevice, "a Fortinet firewall"),
    ("sonicwall", NetworkDevice, "a SonicWall firewall"),
    ("watchguard", NetworkDevice, "a WatchGuard firewall"),
    ("pfsense", NetworkDevice, "a pfSense firewall"),
    ("opnsense", NetworkDevice, "an OPNsense firewall"),
    ("sophos", NetworkDevice, "a Sophos firewall"),
    ("palo alto", NetworkDevice, "a Palo Alto firewall"),
    ("juniper", NetworkDevice, "Juniper network equipment"),
    ("arubaos", NetworkDevice, "Aruba network equipment"),
    ("ubnt", NetworkDevice, "Ubiquiti network equipment"),
    ("unifi", NetworkDevice, "Ubiquiti network equipment"),
    ("zyxel", NetworkDevice, "Zyxel network equipment"),
    ("netgear", NetworkDevice, "Netgear network equipment"),
    ("draytek", NetworkDevice, "a DrayTek router"),
    ("openwrt", NetworkDevice, "an OpenWrt router"),
    ("dd-wrt", NetworkDevice, "a DD-WRT router"),
    ("tp-link", NetworkDevice, "TP-Link network equipment"),
    ("fritz!box", NetworkDevice, "a FRITZ!Box router"),
    ("synology", FileShare, "a Synology NAS"),
    ("qnap", FileShare, "a QNAP NAS"),
    ("truenas", FileShare, "a TrueNAS"),
    ("hp http server", Device, "an HP printer"),
    ("jetdirect", Device, "an HP printer"),
    ("laserjet", Device, "a LaserJet printer"),
    ("officejet", Device, "an OfficeJet printer"),
    ("konica", Device, "a Konica Minolta printer"),
    ("kyocera", Device, "a Kyocera printer"),
    ("ricoh", Device, "a Ricoh printer"),
    ("brother", Device, "a Brother printer"),
    ("lexmark", Device, "a Lexmark printer"),
    ("epson", Device, "an Epson printer"),
    ("canon http", Device, "a Canon printer"),
    ("xerox", Device, "a Xerox printer"),
    ("hikvision", Device, "a Hikvision camera"),
    ("dahua", Device, "a Dahua camera"),
    ("axis", Device, "an Axis camera"),
    ("ilo", Server, "the management controller of an HPE server"),
    ("idrac", Server, "the management controller of a Dell server"),
    ("vmware esxi", Server, "a VMware ESXi host"),
    ("proxmox", Server, "a Proxmox host"),
    ("windows server", Server, "a Windows server"),
    ("microsoft-iis", Server, "a server with IIS"),
    ("microsoft esmtp", Server, "an Exchange or SMTP server"),
    ("postfix", Server, "a mail server"),
    ("exim", Server, "a mail server"),
    ("dovecot", Server, "a mail server"),
];

/// Sets of ports that must all be open, the most telling first.
const SETS: &[(&[u16], AssetType, &str)] = &[
    (&[88, 389], Server, "a domain controller"),
    (&[9100], Device, "a printer"),
    (&[515, 631], Device, "a printer"),
    (&[8291], NetworkDevice, "a MikroTik router"),
    (&[4786], NetworkDevice, "a Cisco switch"),
    (&[179], NetworkDevice, "a router"),
    (&[37777], Device, "a camera or recorder"),
    (&[554], Device, "a camera or recorder"),
    (&[62078], Device, "an iPhone or iPad"),
    (&[502], Device, "an industrial controller"),
    (&[102], Device, "an industrial controller"),
    (&[44818], Device, "an industrial controller"),
    (&[47808], Device, "a building controller"),
    (&[902, 443], Server, "a VMware ESXi host"),
    (&[8006], Server, "a Proxmox host"),
    (&[25], Server, "a mail server"),
    (&[1433], Server, "a database server"),
    (&[1521], Server, "a database server"),
    (&[3306], Server, "a database server"),
    (&[5432], Server, "a database server"),
    (&[27017], Server, "a database server"),
    (&[2049, 111], FileShare, "a file server (NFS)"),
    (&[548], FileShare, "a file server (AFP)"),
    (&[53], Server, "a name server"),
    (&[5985, 445, 80], Server, "a Windows server"),
    (&[135, 445], Workstation, "a Windows machine without server services"),
    (&[5357], Workstation, "a Windows machine without server services"),
    (&[22, 443], Server, "a machine with SSH and a web service"),
    (&[22, 80], Server, "a machine with SSH and a web service"),
];

/// The type, and the reason as people read it.
pub(super) fn identify(ports: &[FoundPort], answers: Answers) -> (AssetType, String) {
    match answers {
        Answers::Own => (),
        Answers::OnEveryPort => {
            return (Device, "almost every port is open: a tarpit or a middlebox".to_owned());
        }
        Answers::OnEveryAddress => {
            let because = "almost every address in its block answers the same way";
            return (Device, because.to_owned());
        }
    }
    by_words(ports).or_else(|| by_ports(ports)).unwrap_or_else(|| {
        let because = match ports {
            [] => "it answers, but no scanned port is open",
            [..] => "no open port identifies it",
        };
        (Device, because.to_owned())
    })
}

fn by_words(ports: &[FoundPort]) -> Option<(AssetType, String)> {
    let said: Vec<(u16, String)> = ports
        .iter()
        .map(|it| {
            let certificate = it.certificate.as_ref().map_or("", |it| it.subject.as_str());
            (it.number, format!("{} {certificate}", it.banner).to_lowercase())
        })
        .collect();
    WORDS.iter().find_map(|(word, asset_type, what)| {
        let (number, _) = said.iter().find(|(_, said)| has_word(said, word))?;
        Some((*asset_type, format!("{what}: tcp/{number} says \"{word}\"")))
    })
}

/// Returns true if the text has the word, and not only as a part of a longer one: `axis` is not in `taxis`.
fn has_word(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + word.len()..].chars().next();
        ![before, after].into_iter().flatten().any(char::is_alphanumeric)
    })
}

fn by_ports(ports: &[FoundPort]) -> Option<(AssetType, String)> {
    let is_open = |number: &u16| ports.iter().any(|it| it.number == *number);
    let (numbers, asset_type, what) =
        SETS.iter().find(|(numbers, ..)| numbers.iter().all(is_open))?;
    let open: Vec<String> = numbers.iter().map(|it| format!("tcp/{it}")).collect();
    Some((*asset_type, format!("{what}: {} open", open.join(" and "))))
}
