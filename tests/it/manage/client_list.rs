//! Many clients at once, from a list that a person made in a spreadsheet.

use serde_json::{Value, json};

use super::read;
use crate::harness::{Answer, Posture};

fn send(posture: &Posture, list: &[u8]) -> Answer {
    posture.operator_bytes("POST", "/api/clients/list", "text/csv", list)
}

fn names(posture: &Posture) -> Vec<String> {
    let clients = read(posture, "/api/clients?limit=100");
    let name = |it: &Value| it["name"].as_str().unwrap().to_owned();
    clients.as_array().unwrap().iter().map(name).collect()
}

#[test]
fn those_that_are_not_there_yet_are_added() {
    let posture = Posture::start();
    posture.client("Acme Ltd");
    posture.pass_s(1);
    // As Excel saves it where lists are separated by semicolons.
    let list = "\u{feff}Client name;Industry;Employees;Frameworks;Tags\r\nACME LTD;;;;\r\n\
                \"Müller; Söhne\";Legal;12;soc2, hipaa;\"Gold; new york\"\r\n;;;;\r\nTailspin;;;;\r\n";
    let answer = send(&posture, list.as_bytes());
    assert_eq!(answer.status, 200, "{}", answer.text());
    let outcome = answer.json()["data"].clone();
    assert_eq!(outcome["known"], json!(["ACME LTD"]));
    assert_eq!(names(&posture), ["Acme Ltd", "Müller; Söhne", "Tailspin"]);
    let id = outcome["added"][0]["id"].as_str().unwrap();
    let client = read(&posture, &format!("/api/clients/{id}"));
    assert_eq!((&client["industry"], &client["employeeCount"]), (&json!("Legal"), &json!(12)));
    assert_eq!(client["settings"]["frameworks"], json!(["SOC2", "HIPAA"]));
    assert_eq!(client["settings"]["tags"], json!(["Gold", "new york"]));
    for (tag, found) in [("gold", 1), ("NEW+YORK", 1), ("new", 0)] {
        let rows = read(&posture, &format!("/api/portfolio/scores?tag={tag}"));
        assert_eq!(rows.as_array().unwrap().len(), found, "{tag}");
    }
    assert_eq!(
        read(&posture, "/api/portfolio/scores?tag=gold")[0]["tags"],
        json!(["Gold", "new york"])
    );
    let again = send(&posture, list.as_bytes()).json()["data"].clone();
    assert_eq!(again, json!({"added": [], "known": ["ACME LTD", "Müller; Söhne", "Tailspin"]}));
    let posture = posture.restart();
    assert_eq!(names(&posture).len(), 3, "they are stored");
}

#[test]
fn what_spreadsheets_add_to_a_list_is_nothing() {
    let posture = Posture::start();
    let lists = [
        "sep=;\nname;industry;employees\nA;Healthcare;40\n",
        "\u{feff}\"sep=,\"\r\n\r\nname,industry\r\nB,\"Legal; other\"\r\n",
        "name,industry,employees,,\nC,Healthcare,40,,\n",
        "name,industry\nD,Legal,,\n,\n,,,\n",
        "SEP=\t\nname\tindustry\nE\tLegal\n",
    ];
    for list in lists {
        posture.pass_s(1);
        let answer = send(&posture, list.as_bytes());
        assert_eq!(answer.status, 200, "{list}: {}", answer.text());
        assert_eq!(answer.json()["data"]["added"].as_array().unwrap().len(), 1, "{list}");
    }
    assert_eq!(names(&posture), ["A", "B", "C", "D", "E"]);
    let clients = read(&posture, "/api/clients");
    assert_eq!(clients[1]["industry"], "Legal; other");
}

#[test]
fn a_list_with_a_wrong_row_adds_nobody() {
    let posture = Posture::start();
    posture.client("Acme");
    let long = format!("name\nA\n{}\n", "x".repeat(501));
    let rows: Vec<_> = (0..1_001).map(|it| format!("c{it}")).collect();
    let many = format!("name\n{}\n", rows.join("\n"));
    for (list, said) in [
        ("", "the file is empty"),
        ("name\n", "a header and no client"),
        ("[\"name\"]\nA\n", "the column `["),
        ("A\nB\n", "the column `A` is not known, or is there twice; the columns of a list"),
        ("name,name\nA,B\n", "the column `name` is not known, or is there twice"),
        ("industry\nLegal\n", "has no column `name`"),
        ("name,employees\nA,1\nB,many\n", "row 2: employees must be a whole number"),
        ("name,employees\nA,1\nB\n", "row 2: has 1 columns where the header has 2"),
        ("name,employees\nA,1,,x\n", "row 1: has 4 columns where the header has 2"),
        ("name,,employees\nA,x,1\n", "row 1: `x` is in a column without a name"),
        ("name,employees\nA,1\n,2\n", "row 2: name: must be 1 to 500 characters"),
        ("name,frameworks\nA,SOC2\nB,SOC3\n", "row 2: settings.frameworks"),
        ("name\nA\nB\na\n", "row 3: has the same name as row 1"),
        ("name\nA\nacme\nACME\n", "row 3: has the same name as row 2"),
        (&long, "row 2: name: must be 1 to 500 characters"),
        (&many, "the list has more than 1000 rows; split it"),
    ] {
        let answer = send(&posture, list.as_bytes());
        assert_eq!(answer.status, 400, "{list}");
        assert!(answer.text().contains(said), "{list}: {}", answer.text());
    }
    for (list, said) in [
        (&b"name\nM\xfcller\n"[..], "row 1: is not UTF-8; save the list as CSV UTF-8"),
        (b"\xff\xfen\0a\0m\0e\0\n\0", "UTF-16"),
        (b"PK\x03\x04", "compressed"),
    ] {
        let answer = send(&posture, list);
        assert!(answer.status == 400 && answer.text().contains(said), "{}", answer.text());
    }
    let large = vec![b' '; 1024 * 1024 + 1];
    assert_eq!(send(&posture, &large).status, 413);
    assert_eq!(names(&posture), ["Acme"]);
    let most = many.rsplit_once("c1000").unwrap().0;
    assert_eq!(send(&posture, most.as_bytes()).status, 200);
    let all = posture.operator("GET", "/api/clients", &Value::Null).json();
    assert_eq!(all["pagination"]["total"], 1_001);
}
