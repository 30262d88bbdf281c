"""Uses passkeys on the console's pages, with the virtual authenticator of a browser.

Arguments: what to try (`all` or `required`), the address of the service by the name localhost, a user's name and password.
Prints a line for each thing that holds and for each that does not, and fails if there is one of these. Between, it prints
what it wants of the test, and goes on after a line: `pass 60` for a minute to pass, `reset` for the user's factors.
"""

import base64
import http.client
import http.server
import json
import sys
import threading

from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.virtual_authenticator import Credential, VirtualAuthenticatorOptions
from selenium.webdriver.support.ui import WebDriverWait

WHAT, START, NAME, PASSWORD = sys.argv[1:]
HOST = START.removeprefix("http://")
failed = []

QUESTION = """const [path, fields, done] = arguments;
fetch(path, { method: 'POST', body: new URLSearchParams(fields) })
  .then(async (it) => done({ status: it.status, json: await it.json() }), (it) => done({ error: String(it) }))"""
ANSWER = """const [question, done] = arguments;
navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(question) })
  .then((it) => done(JSON.stringify(it.toJSON())), (it) => done('error ' + it))"""
SEND = """const [path, fields, done] = arguments;
fetch(path, { method: 'POST', body: new URLSearchParams(fields) })
  .then(async (it) => done({ status: it.status, path: new URL(it.url).pathname, text: await it.text() }))"""


def check(what, holds, more=""):
    print("ok:" if holds else "WRONG:", what, "" if holds else more, flush=True)
    if not holds:
        failed.append(what)


def want(line):
    print(line, flush=True)
    sys.stdin.readline()


def opened():
    options = webdriver.ChromeOptions()
    for argument in ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                     "--force-prefers-reduced-motion", "--window-size=1200,1200"]:
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    options.binary_location = "/usr/bin/chromium"
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService("/usr/bin/chromedriver"))
    authenticator = VirtualAuthenticatorOptions()
    authenticator.has_resident_key = True
    authenticator.has_user_verification = True
    authenticator.is_user_verified = True
    authenticator.transport = "internal"
    driver.add_virtual_authenticator(authenticator)
    return driver


driver = opened()


def until(condition):
    WebDriverWait(driver, 20).until(lambda _: condition())


def find(selector):
    return driver.find_element(By.CSS_SELECTOR, selector)


def heading():
    return find("h1").text


def text():
    return find("main").text


def go(path):
    driver.get(START + path)


def press(selector):
    """Presses a button that leads to another page."""
    before = find("html")
    find(selector).click()
    until(lambda: driver.find_elements(By.CSS_SELECTOR, "html") != [before] and driver.find_elements(By.TAG_NAME, "h1"))


def fill_password():
    go("/sign-in")
    find("[name=name]").send_keys(NAME)
    find("[name=password]").send_keys(PASSWORD)
    press("form[action='/sign-in'] button")


def sign_out():
    go("/me")
    press("form[action='/sign-out'] button")


def add(name):
    # What was pressed before may still be on its way.
    until(lambda: go("/me/passkeys") or driver.find_elements(By.CSS_SELECTOR, "[name=name]"))
    find("[name=name]").send_keys(name)
    press("[data-passkey] button")


def sign_in():
    go("/sign-in")
    press("[data-passkey] button")


def question(path, fields):
    return driver.execute_async_script(QUESTION, path, fields)


def answer(asked):
    return driver.execute_async_script(ANSWER, asked)


def send(path, fields):
    return driver.execute_async_script(SEND, path, fields)


def asked_to_sign_in():
    """On the sign-in page, a second after what was before."""
    want("pass 60")
    go("/sign-in")
    return question("/sign-in/passkey/question", {})["json"]


def is_refused(what, given):
    got = send("/sign-in/passkey", {"answer": given})
    check(what, got["status"] == 401 and "This passkey was not accepted." in got["text"], got)


def token():
    return find("main [name=token]").get_attribute("value")


def raw(text):
    return base64.urlsafe_b64decode(text + "==")


def keep(credential, count):
    """Gives the authenticator this passkey alone, with this counter."""
    driver.remove_all_credentials()
    kept = (raw(credential.id), credential.rp_id, raw(credential.user_handle), raw(credential.private_key))
    driver.add_credential(Credential.create_resident_credential(*kept, count))


def elsewhere():
    """Another site on this machine."""

    class Page(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(b"<title>Elsewhere</title>")

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://localhost:{server.server_port}/"


def status_with(cookie):
    """Of a page, for whoever has this cookie."""
    connection = http.client.HTTPConnection(HOST)
    connection.request("GET", "/me/sessions", headers={"Cookie": f"posture={cookie}", "Host": HOST})
    return connection.getresponse().status


def try_all():
    fill_password()
    before = driver.get_cookie("posture")["value"]
    add("Laptop")
    check("a passkey is added", heading() == "Your passkeys" and "Laptop" in text(), text())
    check("adding one ends the sessions of before", status_with(before) == 303)
    find("[name=name]").send_keys("Again")
    find("[data-passkey] button").click()
    until(lambda: driver.find_elements(By.CSS_SELECTOR, "[data-passkey] [role=alert]"))
    check("a device has one passkey of a user", "has a passkey of yours already" in text(), text())
    sign_out()

    want("pass 1")
    sign_in()
    check("a passkey signs in", heading() == "Morning", text())
    go("/me/sessions")
    check("the session is listed as such", "passkey" in find("tbody").text, text())
    want("pass 960")
    go("/keys")
    check("access to others must be confirmed", heading() == "Confirm that it is you", text())
    press("[data-passkey] button")
    check("a passkey confirms", heading() == "API keys", text())
    sign_out()

    asked = asked_to_sign_in()
    kept = driver.get_cookie("posture-passkey")
    given = answer(asked)
    got = send("/sign-in/passkey", {"answer": given})
    check("an answer signs in", (got["status"], got["path"]) == (200, "/"), got)
    sign_out()
    driver.add_cookie({"name": "posture-passkey", "value": kept["value"]})
    is_refused("an answer counts once", given)
    asked_to_sign_in()
    is_refused("an answer to another question is refused", given)

    asked = asked_to_sign_in()
    driver.get(elsewhere())
    given = answer(asked)
    go("/sign-in")
    is_refused("an answer that another site got is refused", given)

    asked = asked_to_sign_in()
    driver.set_user_verified(False)
    given = answer({**asked, "userVerification": "discouraged"})
    driver.set_user_verified(True)
    is_refused("a device that did not verify the user is refused", given)

    laptop = driver.get_credentials()[0]
    keep(laptop, 0)
    is_refused("a counter that went back is refused", answer(asked_to_sign_in()))
    keep(laptop, 100)

    given = answer(asked_to_sign_in())
    want("pass 300")
    got = send("/sign-in/passkey", {"answer": given})
    check("an answer after five minutes is refused", got["status"] == 401 and "5 minutes ago" in got["text"], got)

    want("pass 60")
    sign_in()
    want("pass 960")
    go("/confirm")
    secret = token()
    given = answer(question("/sign-in/passkey/question", {})["json"])
    got = send("/confirm/passkey", {"token": secret, "answer": given})
    check("an answer that signs in does not confirm", got["status"] == 401 and "was not asked" in got["text"], got)
    press("[data-passkey] button")

    for number in range(2, 11):
        want("pass 60")
        driver.remove_all_credentials()
        add(f"Device {number}")
    check("a user has ten passkeys", "which is the limit" in text() and "Device 10" in text(), text())
    got = question("/me/passkeys/question", {"token": token()})
    check("and no eleventh", got["status"] == 409, got)

    find("[aria-label='Remove the passkey Laptop']").click()
    driver.switch_to.alert.accept()
    until(lambda: not driver.find_elements(By.CSS_SELECTOR, "[aria-label='Remove the passkey Laptop']"))
    check("a passkey is removed", heading() == "Your passkeys" and "Device 10" in text(), text())
    sign_out()
    keep(laptop, 200)
    is_refused("a passkey that was removed is refused", answer(asked_to_sign_in()))


def try_required():
    fill_password()
    check("a password alone opens the set-up alone", heading() == "Your second factor", text())
    add("Laptop")
    go("/clients")
    check("who adds a passkey goes on", heading() == "Clients", text())
    sign_out()
    want("pass 60")
    fill_password()
    check("the password alone is then not enough", "sign in to the console with it" in text(), text())
    want("log in")
    sign_in()
    go("/clients")
    check("the passkey is", heading() == "Clients", text())
    go("/users")
    check("administrators see who has one", "1 passkey" in text(), text())
    want("reset")
    go("/clients")
    check("a reset ends the sessions", heading() == "Sign in", text())
    is_refused("and removes the passkey", answer(asked_to_sign_in()))
    fill_password()
    check("and the set-up begins anew", heading() == "Your second factor", text())


try:
    {"all": try_all, "required": try_required}[WHAT]()
    blocked = [it["message"] for it in driver.get_log("browser") if "Content Security Policy" in it["message"]]
    check("nothing is blocked", not blocked, blocked)
finally:
    driver.quit()
sys.exit(1 if failed else 0)
