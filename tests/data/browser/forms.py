"""Sends files with the form of a client's imports, one and several, and a form with a wrong field.

Arguments: the address of the service, a user's name and password, the id of a client, a file that is taken and one that is
refused. Prints a line for each thing that holds and for each that does not, and fails if there is one of these.
"""

import sys

from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

START, NAME, PASSWORD, CLIENT, GOOD, BAD = sys.argv[1:]
failed = []


def check(what, holds, more=""):
    print("ok:" if holds else "WRONG:", what, "" if holds else more, flush=True)
    if not holds:
        failed.append(what)


options = webdriver.ChromeOptions()
for argument in ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1200,1200"]:
    options.add_argument(argument)
options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
options.binary_location = "/usr/bin/chromium"
driver = webdriver.Chrome(options=options, service=webdriver.ChromeService("/usr/bin/chromedriver"))


def send(*files):
    driver.get(f"{START}/clients/{CLIENT}/imports")
    driver.find_element(By.NAME, "observedAt").click()
    field = driver.find_element(By.CSS_SELECTOR, "input[type=file]")
    field.send_keys("\n".join(files))
    field.find_element(By.XPATH, "ancestor::form").find_element(By.CSS_SELECTOR, "button:not([type])").click()


def shown(selector):
    found = lambda _: [it.text for it in driver.find_elements(By.CSS_SELECTOR, selector) if it.text]
    return WebDriverWait(driver, 60).until(found)


try:
    driver.get(f"{START}/sign-in")
    driver.find_element(By.NAME, "name").send_keys(NAME)
    driver.find_element(By.NAME, "password").send_keys(PASSWORD)
    driver.find_element(By.CSS_SELECTOR, "main button").click()
    WebDriverWait(driver, 60).until(lambda it: "/sign-in" not in it.current_url)

    send(GOOD)
    said = shown("p[role=status]")
    check("one file is imported", "imported" in said[0] and "done=" in driver.current_url, said)

    send(BAD)
    said = shown("p[role=alert]")
    check("a refused file shows why", "format" in said[0], said)
    check("the page can be used on", driver.find_element(By.CSS_SELECTOR, "input[type=file]").get_attribute("multiple"))

    send(BAD, GOOD)
    WebDriverWait(driver, 60).until(lambda _: driver.find_element(By.CSS_SELECTOR, "form.narrow button:not([type])").is_enabled())
    said = shown("ul[role=status] li")
    check("of several files each says what became of it", len(said) == 2 and "format" in said[0], said)
    check("and one that is taken says so", said[1] == "prowler.csv: done", said)

    driver.get(f"{START}/microsoft-app")
    driver.find_element(By.NAME, "appId").send_keys("x")
    driver.find_element(By.NAME, "tenant").send_keys("msp.example")
    driver.find_element(By.NAME, "tenant").send_keys(Keys.ENTER)
    said = shown("p[role=alert]")
    check("an error names the field as the page does", said[0].startswith("Application (client) id: must be"), said)
    check("and leads to it", driver.switch_to.active_element.get_attribute("name") == "appId")

    log = [it["message"] for it in driver.get_log("browser") if "400" not in it["message"] and "409" not in it["message"]]
    check("the browser complains of nothing", not log, log)
finally:
    driver.quit()
sys.exit(1 if failed else 0)
