// A typed client of the document. A line that must not compile stands below a `@ts-expect-error`.
import createClient from "openapi-fetch";
import type { components, paths } from "./api";

const api = createClient<paths>({ baseUrl: "http://localhost:8080" });
const id = "0199e0a0-5c1a-7e6d-9f0b-1f2e3d4c5b6a";

// A change requires nothing; null is allowed where it clears a field.
api.PATCH("/api/users/{userId}", { params: { path: { userId: id } }, body: { enabled: false } });
api.PATCH("/api/users/{userId}", { params: { path: { userId: id } }, body: { displayName: null } });
// @ts-expect-error an email cannot be cleared
api.PATCH("/api/users/{userId}", { params: { path: { userId: id } }, body: { email: null } });
api.PATCH("/api/clients/{clientId}", { params: { path: { clientId: id } }, body: { industry: null } });
api.PATCH("/api/keys/{keyId}", { params: { path: { keyId: id } }, body: { expiresAt: null } });
api.PATCH("/api/webhooks/{webhookId}", { params: { path: { webhookId: id } }, body: { enabled: true } });
api.PATCH("/api/alert-rules/{alertRuleId}", { params: { path: { alertRuleId: id } }, body: {} });
api.PATCH("/api/tasks/{taskId}", { params: { path: { taskId: id } }, body: { status: "done" } });
// @ts-expect-error there is no such state
api.PATCH("/api/tasks/{taskId}", { params: { path: { taskId: id } }, body: { status: "finished" } });

// What is added has required fields.
api.POST("/api/users", { body: { email: "ada@example.com", role: "viewer" } });
// @ts-expect-error email and role are required
api.POST("/api/users", { body: {} });
// @ts-expect-error there is no such role
api.POST("/api/users", { body: { email: "ada@example.com", role: "owner" } });
api.POST("/api/clients", { body: { name: "Acme Ltd" } });
// @ts-expect-error name is required
api.POST("/api/clients", { body: {} });
api.POST("/api/keys", { body: { name: "bi", scopes: ["read:clients"] } });
// @ts-expect-error scopes are required
api.POST("/api/keys", { body: { name: "bi" } });
api.POST("/api/webhooks", { body: { url: "https://hooks.example.com", events: ["all"] } });
// @ts-expect-error events are required
api.POST("/api/webhooks", { body: { url: "https://hooks.example.com" } });
api.POST("/api/alert-rules", { body: { name: "Low", condition: { type: "score_below", value: 60 } } });
// @ts-expect-error this condition has a value
api.POST("/api/alert-rules", { body: { name: "Low", condition: { type: "score_below" } } });
// @ts-expect-error this condition has no framework
api.POST("/api/alert-rules", { body: { name: "Low", condition: { type: "score_below", value: 60, framework: "SOC2" } } });
api.POST("/api/tasks", { body: { clientId: id, title: "Turn on MFA" } });
// @ts-expect-error clientId is required
api.POST("/api/tasks", { body: { title: "Turn on MFA" } });
api.PUT("/api/clients/{clientId}/controls/{controlCode}", {
  params: { path: { clientId: id, controlCode: "GOV-14" } },
  body: { status: null },
});
api.PUT("/api/clients/{clientId}/controls/{controlCode}", {
  params: { path: { clientId: id, controlCode: "GOV-14" } },
  // @ts-expect-error this cannot be attested
  body: { status: "not_assessed", reason: "none" },
});
api.POST("/api/clients/{clientId}/facts", {
  params: { path: { clientId: id } },
  body: { source: "rmm", observations: [{ control: "ID-01", status: "partial" }], sync: null },
});

// What is answered is typed too.
type Task = components["schemas"]["RemediationTask"];
export const isOverdue = (task: Task): boolean => task.overdue && task.status !== "done";
export const grade = async (): Promise<"A" | "B" | "C" | "D" | "F" | undefined> => {
  const { data } = await api.GET("/api/v1/clients/{clientId}/scores", { params: { path: { clientId: id } } });
  return data?.data.current?.grade;
};
export const settings = async (): Promise<unknown> => {
  const { data, error } = await api.GET("/api/v1/clients/{clientId}", { params: { path: { clientId: id } } });
  return data ? data.data.settings["profile"] : error?.error.code;
};
