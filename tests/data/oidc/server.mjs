// An authority that knows one app by its certificate. Arguments: a folder with node_modules, the address that the app signs for, the app's id,
// the scope, a file with the certificate. Prints the port, and then each request for a token with the status of its answer.
import { createServer } from 'node:http';
import { readFileSync } from 'node:fs';
import { X509Certificate } from 'node:crypto';
import { pathToFileURL } from 'node:url';

const [modules, address, app, scope, certificate] = process.argv.slice(2);
const { Provider } = await import(pathToFileURL(`${modules}/node_modules/oidc-provider/lib/index.js`));
const key = new X509Certificate(readFileSync(certificate)).publicKey.export({ format: 'jwk' });

const provider = new Provider(address, {
  routes: { token: new URL(address).pathname },
  scopes: [scope],
  features: { clientCredentials: { enabled: true }, devInteractions: { enabled: false } },
  ttl: { ClientCredentials: 3600 },
  clients: [{
    client_id: app,
    token_endpoint_auth_method: 'private_key_jwt',
    token_endpoint_auth_signing_alg: 'PS256',
    jwks: { keys: [{ ...key, use: 'sig' }] },
    grant_types: ['client_credentials'],
    redirect_uris: [],
    response_types: [],
    scope,
  }],
});
const say = (it) => process.stdout.write(`${JSON.stringify(it)}\n`);
provider.use(async (context, next) => {
  await next();
  const { client_assertion: assertion } = context.oidc?.params ?? {};
  say({ assertion, status: context.status, error: context.body?.error_description ?? null });
});
for (const name of ['grant.error', 'server_error']) {
  provider.on(name, (_, error) => say({ refused: error.error_detail ?? error.message }));
}
const server = createServer(provider.callback());
server.listen(0, '127.0.0.1', () => say({ port: server.address().port }));
