import type { Context, MiddlewareHandler } from 'hono';
import { getCookie, setCookie } from 'hono/cookie';
import type { HttpBindings } from '@hono/node-server';
import { html } from '../../tables/html';
import { addressOf, roleOfToken, type GuardOptions } from '../request/guard';
import type { Api, Variables } from '../request/context';
import { rateLimit } from '../request/rate-limit';
import { formFields } from './form-fields';
import { sendDocument } from './frame';

const cookieName = 'coevolve_token';

/** Wrong tokens of one address, in the form and in cookies. */
const guessLimit = { burst: 10, perSecond: 10 / 60 };

/** Returns the function that counts a wrong token of a visitor. */
export function countGuesses(): (env: HttpBindings) => void {
  const allowed = rateLimit(guessLimit);
  return (env) => allowed(addressOf(env));
}

type CountGuess = ReturnType<typeof countGuesses>;

type Guarded = MiddlewareHandler<{ Bindings: HttpBindings; Variables: Variables }>;

/** Lets a browser with the cookie of a token pass, and sends another one to the form. */
export const sessionGuard =
  ({ tokens }: GuardOptions, countGuess: CountGuess): Guarded =>
  async (context, next) => {
    const token = tokenOf(context);
    const role = token && roleOfToken(tokens, token);
    if (token && !role) countGuess(context.env);
    if (!role) return context.redirect(`/login?next=${encodeURIComponent(pathOf(context))}`, 303);
    context.set('role', role);
    return next();
  };

export const tokenOf = (context: Context): string | undefined => getCookie(context, cookieName);

/** Adds the form that takes a token. The cookie is sent by pages of this server alone, and no script can read it. */
export function addLogin(app: Api, { tokens, isTls }: GuardOptions & { isTls: boolean }, countGuess: CountGuess): void {
  app.get('/login', (context) => sendDocument(context, 'Sign in', loginForm(nextOf(context.req.query('next')), null)));
  app.post('/login', async (context) => {
    const fields = await formFields(context);
    const [token = '', next] = [fields('token')[0]?.trim(), nextOf(fields('next')[0])];
    if (!roleOfToken(tokens, token)) {
      countGuess(context.env);
      return sendDocument(context, 'Sign in', loginForm(next, 'This is no token of the server.'), 401);
    }
    setCookie(context, cookieName, token, { path: '/', httpOnly: true, sameSite: 'Strict', secure: isTls });
    return context.redirect(next, 303);
  });
}

const pathOf = ({ req }: Context): string => new URL(req.url).pathname + new URL(req.url).search;

/** Only a path of this server: `//host` would be another one. */
const nextOf = (path: string | undefined): string => (path && /^\/(?![/\\])/.test(path) ? path : '/');

const loginForm = (next: string, problem: string | null) =>
  html`<main class="narrow">
    <h1>coevolve</h1>
    <form method="post" action="/login">
      <label for="token">Token</label>
      <input id="token" name="token" type="password" autocomplete="current-password" required autofocus />
      <input type="hidden" name="next" value="${next}" />
      <button>Sign in</button>
      ${problem === null ? null : html`<p role="alert" class="problem">${problem}</p>`}
    </form>
    <p class="note">
      Readers use <code>&lt;home&gt;/secrets/api-read-token</code>, operators
      <code>&lt;home&gt;/secrets/api-operate-token</code>.
    </p>
  </main>`;
