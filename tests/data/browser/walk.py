"""Walks through all pages of the console and some guides in a browser, at the width of a telephone and of a desk.

Arguments: the address of the service, the file of axe-core, the names of users with the same password, the password.
Prints what is wrong, one line each, and fails if there is anything: an error on the browser's console (so also what the
content security policy blocked), an answer of 400 or more, a page that is wider than the screen, and what axe-core calls
serious or critical.
"""

import json
import re
import sys

from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

START, AXE, NAMES, PASSWORD = sys.argv[1], open(sys.argv[2]).read(), sys.argv[3].split(","), sys.argv[4]
# They have everything that guides are made of.
GUIDES = ["/docs/", "/docs/install", "/docs/connect", "/docs/search?q=proxy", "/docs/reference"]
WIDTHS = [360, 1440]
RULES = "axe.run({resultTypes: ['violations']}).then(it => arguments[arguments.length - 1](it.violations))"
wrong = []


def browser():
    options = webdriver.ChromeOptions()
    for argument in ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]:
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    options.binary_location = "/usr/bin/chromium"
    return webdriver.Chrome(options=options, service=webdriver.ChromeService("/usr/bin/chromedriver"))


def kind(path):
    """A path without what differs between pages of one kind."""
    path = re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}", "ID", path.split("?")[0])
    path = re.sub(r"/(controls|add)/[^/]+", r"/\1/NAME", path)
    return re.sub(r"/frameworks/[^/]+(/[^/]+)?", lambda it: "/frameworks/NAME" + ("/NAME" if it[1] else ""), path)


def look(driver, name, path):
    """What one page shows; its links."""
    say = lambda what: wrong.append(f"{name} {path}: {what}")
    driver.get(START + path)
    # A script makes this one.
    if path == "/docs/reference":
        WebDriverWait(driver, 20).until(lambda it: it.find_elements(By.CLASS_NAME, "opblock"))
    for entry in driver.get_log("performance"):
        message = json.loads(entry["message"])["message"]
        if message["method"] == "Network.responseReceived":
            response = message["params"]["response"]
            if response["status"] >= 400:
                say(f"{response['status']} of {response['url']}")
    for entry in driver.get_log("browser"):
        if entry["level"] in ("SEVERE", "WARNING"):
            say(entry["message"])
    for width in WIDTHS:
        metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        wide = driver.execute_script("return document.scrollingElement.scrollWidth")
        if width < wide:
            say(f"it is {wide} pixels wide on a screen of {width}")
    # The policy keeps scripts of others out of pages, but not those of the driver.
    driver.execute_script(AXE)
    for found in driver.execute_async_script(RULES):
        if found["impact"] in ("serious", "critical"):
            for node in found["nodes"][:3]:
                say(f"{found['id']}: {found['help']}: {node['html'][:200]}")
    links = driver.execute_script("return [...document.links].map(it => it.getAttribute('href'))")
    return [it.split("#")[0] for it in links if it.startswith("/") and not re.match("/docs|.*/(files|csv)/", it)]


def walk(name):
    driver = browser()
    try:
        driver.get(START + "/sign-in")
        driver.find_element(By.NAME, "name").send_keys(name)
        driver.find_element(By.NAME, "password").send_keys(PASSWORD)
        driver.find_element(By.CSS_SELECTOR, "main button").click()
        WebDriverWait(driver, 20).until(lambda it: it.find_elements(By.LINK_TEXT, "Clients"))
        todo, seen = ["/"], set()
        while todo:
            path = todo.pop(0)
            if kind(path) in seen:
                continue
            seen.add(kind(path))
            todo += look(driver, name, path)
        return len(seen)
    finally:
        driver.quit()


def read_guides():
    driver = browser()
    try:
        for path in GUIDES:
            look(driver, "guides", path)
        return len(GUIDES)
    finally:
        driver.quit()


for each in NAMES:
    print(each, walk(each), "kinds of pages")
print(read_guides(), "pages of guides")
print("\n".join(wrong))
sys.exit(1 if wrong else 0)
