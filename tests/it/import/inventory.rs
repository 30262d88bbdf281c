//! Lists of assets through the front door.

use serde_json::Value;

use crate::harness::process::Folder;
use crate::harness::sample::own;

fn names(folder: &Folder, client: &str) -> Vec<String> {
    let all = folder.ask(&format!("/api/v1/clients/{client}/assets"));
    let shown =
        |it: &Value| format!("{} {}", it["name"].as_str().unwrap(), it["status"].as_str().unwrap());
    let mut all: Vec<String> = all["data"].as_array().unwrap().iter().map(shown).collect();
    all.sort();
    all
}

#[test]
fn columns_are_kept_for_the_next_list_of_the_source() {
    let folder = Folder::new();
    let _server = folder.serve();
    let client = folder.client("Acme");
    let list = ["import", "--client", "Acme", "--format", "inventory", "--source", "erp"];
    folder.write("first.csv", b"Label,No,Maker\nPC-1,1,a\nPC-2,2,a\n");
    folder.write("next.csv", b"Label,No,Maker\nPC-2,2,a\nPC-3,3,a\n");
    let run = |more: &[&str]| folder.run(&[&list[..], more].concat());

    let unknown = run(&["first.csv"]).err;
    assert!(unknown.contains("--column name=COLUMN; it has Label, No, Maker"), "{unknown}");
    let wrong = run(&["--column", "colour=Maker", "first.csv"]).err;
    assert!(wrong.contains("unknown field colour; a column can be id, name,"), "{wrong}");
    let wrong = run(&["--column", "name", "first.csv"]).err;
    assert!(wrong.contains("must be FIELD=COLUMN"), "{wrong}");
    let columns = ["--column", "name=Label", "--column", "id=No"];
    let done = run(&[&columns[..], &["first.csv"]].concat());
    assert!(done.out.contains("2 inventory records -> 0 facts; assets: 2 new"), "{}", done.out);
    assert_eq!(names(&folder, &client), ["PC-1 active", "PC-2 active"]);

    // The columns are those of this source.
    let other = ["import", "--client", "Acme", "--format", "inventory", "next.csv"];
    assert!(folder.run(&other).err.contains("--column name=COLUMN"));
    let done = run(&["next.csv"]);
    assert!(done.out.contains("assets: 1 new, 0 updated"), "{}", done.out);
    assert_eq!(
        names(&folder, &client),
        ["PC-1 active", "PC-2 active", "PC-3 active"],
        "nothing is gone"
    );
    folder.ok(&[&list[..], &["--complete", "--again", "next.csv"]].concat());
    assert_eq!(names(&folder, &client), ["PC-1 retired", "PC-2 active", "PC-3 active"]);

    let scan = ["import", "--client", "Acme", "--column", "name=a", "--observed-at", "now"];
    folder.write("scan.xml", &own("nmap/network.xml"));
    let refused = folder.run(&[&scan[..], &["scan.xml"]].concat()).err;
    assert!(
        refused.contains(
            "the file is nmap; only an inventory and a list of people who left have columns"
        ),
        "{refused}"
    );
}
