// Reads the four logs to their ends, in pages of ten rows, and an export, with a client that openapi-generator made.

import { Configuration, ManagementApi } from "./client";

declare const process: { argv: string[]; exit(code: number): never };

const [url, token, webhook] = process.argv.slice(2);
const headers = { Authorization: `Bearer ${token}` };
const api = new ManagementApi(new Configuration({ basePath: url, headers }));

async function walk(name: string, page: (cursor?: string) => Promise<{ data: unknown[]; next: string | null }>) {
    let rows = 0;
    let cursor: string | undefined;
    do {
        const found = await page(cursor);
        rows += found.data.length;
        cursor = found.next ?? undefined;
    } while (cursor !== undefined);
    console.log(name, rows);
}

async function main() {
    await walk("events", (after) => api.listEvents({ after, limit: 10 }));
    await walk("changes", (after) => api.listChanges({ after, limit: 10 }));
    await walk("deliveries", (after) => api.listDeliveries({ webhookId: webhook!, after, limit: 10 }));
    await walk("audit", (before) => api.listAudit({ before, limit: 10 }));
    console.log("export", (await (await api.exportClients()).text()).split("\n").length - 1);
}

main().catch((error) => {
    console.error(error);
    process.exit(1);
});
