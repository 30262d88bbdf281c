// An identity provider of people. Arguments: a folder with node_modules, the port, the address that people are led back to, the id of a
// key. `POST /person` with `{id, claims, amr, acr, denies}` says who sits in front of it from then on. Prints its port, and why it refuses.
import { createServer } from 'node:http';
import { generateKeyPairSync } from 'node:crypto';
import { pathToFileURL } from 'node:url';

const [modules, port, back, key] = process.argv.slice(2);
const { Provider } = await import(pathToFileURL(`${modules}/node_modules/oidc-provider/lib/index.js`));
const jwk = (kind, options, more) => ({ ...generateKeyPairSync(kind, options).privateKey.export({ format: 'jwk' }), use: 'sig', ...more });
const client = (id, more) => ({ client_id: id, redirect_uris: [back], response_types: ['code'], grant_types: ['authorization_code'], ...more });

let person;
const provider = new Provider(`http://127.0.0.1:${port}`, {
  clients: [
    client('confidential', { client_secret: 'a-secret+of/a=client', token_endpoint_auth_method: 'client_secret_basic', id_token_signed_response_alg: 'RS256' }),
    client('posted', { client_secret: 'another-secret', token_endpoint_auth_method: 'client_secret_post', id_token_signed_response_alg: 'RS256' }),
    client('public', { token_endpoint_auth_method: 'none', id_token_signed_response_alg: 'ES256' }),
  ],
  jwks: { keys: [jwk('rsa', { modulusLength: 2048 }, { alg: 'RS256', kid: `rsa-${key}` }), jwk('ec', { namedCurve: 'P-256' }, { alg: 'ES256', kid: `ec-${key}` })] },
  claims: { openid: ['sub', 'amr', 'acr', 'roles'], email: ['email', 'email_verified'], profile: ['name'] },
  acrValues: ['phr'],
  conformIdTokenClaims: false,
  features: { devInteractions: { enabled: false }, claimsParameter: { enabled: true } },
  cookies: { keys: ['of this test'] },
  findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id, ...person.claims }) }),
  interactions: { url: (_, interaction) => `/interaction/${interaction.uid}` },
});
const say = (it) => process.stdout.write(`${JSON.stringify(it)}\n`);
for (const name of ['authorization.error', 'grant.error', 'server_error']) {
  provider.on(name, (_, error) => say({ refused: error.error_description ?? error.message, detail: error.error_detail ?? null }));
}

async function interact(request, response) {
  const { params } = await provider.interactionDetails(request, response);
  if (person.denies) {
    const denied = { error: 'access_denied', error_description: 'the person said no' };
    return provider.interactionFinished(request, response, denied, { mergeWithLastSubmission: false });
  }
  const grant = new provider.Grant({ accountId: person.id, clientId: params.client_id });
  grant.addOIDCScope(params.scope);
  grant.addOIDCClaims(['auth_time', 'amr', 'acr', 'roles', 'email', 'email_verified', 'name']);
  const login = { accountId: person.id, amr: person.amr, acr: person.acr, remember: true };
  const result = { login, consent: { grantId: await grant.save() } };
  return provider.interactionFinished(request, response, result, { mergeWithLastSubmission: false });
}

async function body(request) {
  let text = '';
  for await (const some of request) text += some;
  return JSON.parse(text);
}

const callback = provider.callback();
const server = createServer(async (request, response) => {
  try {
    if (request.url === '/person') {
      person = await body(request);
      response.end('{}');
    } else if (request.url.startsWith('/interaction/')) {
      await interact(request, response);
    } else {
      callback(request, response);
    }
  } catch (error) {
    response.statusCode = 500;
    response.end(`${error.stack}`);
  }
});
server.listen(Number(port), '127.0.0.1', () => say({ port: server.address().port }));
