// Reads the four logs to their ends, in pages of ten rows, and an export, with a client that openapi-generator made.
package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"

	client "posture/client"
)

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func walk(name string, page func(cursor string) (int, *string)) {
	rows, cursor := 0, ""
	for {
		n, next := page(cursor)
		rows += n
		if next == nil {
			break
		}
		cursor = *next
	}
	fmt.Println(name, rows)
}

func main() {
	url, token, webhook := os.Args[1], os.Args[2], os.Args[3]
	config := client.NewConfiguration()
	config.Servers = client.ServerConfigurations{{URL: url}}
	config.AddDefaultHeader("Authorization", "Bearer "+token)
	api, ctx := client.NewAPIClient(config).ManagementAPI, context.Background()
	walk("events", func(cursor string) (int, *string) {
		request := api.ListEvents(ctx).Limit(10)
		if cursor != "" {
			request = request.After(cursor)
		}
		page, _, err := request.Execute()
		check(err)
		return len(page.Data), page.Next.Get()
	})
	walk("changes", func(cursor string) (int, *string) {
		request := api.ListChanges(ctx).Limit(10)
		if cursor != "" {
			request = request.After(cursor)
		}
		page, _, err := request.Execute()
		check(err)
		return len(page.Data), page.Next.Get()
	})
	walk("deliveries", func(cursor string) (int, *string) {
		request := api.ListDeliveries(ctx, webhook).Limit(10)
		if cursor != "" {
			request = request.After(cursor)
		}
		page, _, err := request.Execute()
		check(err)
		return len(page.Data), page.Next.Get()
	})
	walk("audit", func(cursor string) (int, *string) {
		request := api.ListAudit(ctx).Limit(10)
		if cursor != "" {
			request = request.Before(cursor)
		}
		page, _, err := request.Execute()
		check(err)
		return len(page.Data), page.Next.Get()
	})
	_, answer, err := api.ExportClients(ctx).Execute()
	check(err)
	if answer.StatusCode != http.StatusOK {
		panic(answer.Status)
	}
	content, err := io.ReadAll(answer.Body)
	check(err)
	fmt.Println("export", bytes.Count(content, []byte("\n")))
}
