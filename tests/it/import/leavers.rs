//! Lists of people who left, through the front door.

use crate::harness::process::Folder;

#[test]
fn columns_are_kept_for_the_next_list_of_the_source() {
    let folder = Folder::new();
    let _server = folder.serve();
    folder.client("Acme");
    let list = ["import", "--client", "Acme", "--format", "leavers"];
    folder.write("first.csv", b"Person,Gone\na@x.example,2026-11-20\n");
    folder.write("next.csv", b"Person,Gone\nb@x.example,2026-11-20\n");
    let run = |more: &[&str]| folder.run(&[&list[..], more].concat());
    assert!(run(&["first.csv"]).err.contains("it has Person, Gone"));
    let wrong = run(&[
        "--column",
        "name=Person",
        "--column",
        "email=Person",
        "--column",
        "last-day=Gone",
        "first.csv",
    ]);
    let rule = "has no field name; a column of it can be email, login, employee, last-day";
    assert!(wrong.err.contains(rule), "{}", wrong.err);
    let columns = ["--column", "email=Person", "--column", "last-day=Gone", "first.csv"];
    let done = run(&columns);
    assert!(done.out.contains("1 leavers record -> 0 facts"), "{} {}", done.out, done.err);
    let done = run(&["next.csv"]);
    assert!(done.out.contains("1 leavers record -> 0 facts"), "{} {}", done.out, done.err);

    // A list of another kind is not read by them.
    folder.write("assets.csv", b"Name,Serial,Hostname\nPC-1,1,pc-1\n");
    let both = ["import", "--client", "Acme", "--source", "leavers", "assets.csv"];
    assert!(folder.run(&both).out.contains("assets: 1 new"));
}
