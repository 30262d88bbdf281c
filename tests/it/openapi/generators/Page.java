import java.nio.file.Files;
import java.util.List;
import java.util.UUID;
import org.openapitools.client.ApiClient;
import org.openapitools.client.api.ManagementApi;

/** Reads the four logs to their ends, in pages of ten rows, and an export, with a client that openapi-generator made. */
public class Page {
    record Part(List<?> rows, String next) {}

    interface Log {
        Part page(String cursor) throws Exception;
    }

    static void walk(String name, Log log) throws Exception {
        int rows = 0;
        String cursor = null;
        do {
            Part part = log.page(cursor);
            rows += part.rows().size();
            cursor = part.next();
        } while (cursor != null);
        System.out.println(name + " " + rows);
    }

    public static void main(String[] given) throws Exception {
        ApiClient client = new ApiClient();
        client.updateBaseUri(given[0]);
        client.setRequestInterceptor(it -> it.header("Authorization", "Bearer " + given[1]));
        ManagementApi api = new ManagementApi(client);
        UUID webhook = UUID.fromString(given[2]);
        walk("events", cursor -> {
            var page = api.listEvents(cursor, null, null, null, null, null, null, null, 10);
            return new Part(page.getData(), page.getNext());
        });
        walk("changes", cursor -> {
            var page = api.listChanges(cursor, null, null, 10);
            return new Part(page.getData(), page.getNext());
        });
        walk("deliveries", cursor -> {
            var page = api.listDeliveries(webhook, cursor, 10);
            return new Part(page.getData(), page.getNext());
        });
        walk("audit", cursor -> {
            var page = api.listAudit(cursor, null, null, null, null, null, 10);
            return new Part(page.getData(), page.getNext());
        });
        System.out.println("export " + Files.readAllLines(api.exportClients().toPath()).size());
    }
}
