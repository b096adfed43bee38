/** The dashboard: one `fetch` handler that mounts in any server, a listener for Node's, and a server of its own. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { checkInteger, checkKeys } from '../core/checks.ts'
import { systemClock } from '../core/clock.ts'
import { invalidOption, JobchartError } from '../core/errors.ts'
import { consoleLogger } from '../core/logger.ts'
import { admit, isLoopback, type Peer } from './access.ts'
import { failure, problem } from './answers.ts'
import { dashboardSettings, type DashboardOptions } from './options.ts'
import { routes } from './routes.ts'

/** Time limit of an answer, ms; it does not apply to the live stream. */
const answerMsMax = 30_000
const urlCharsMax = 8_192

/** Where a dashboard listens. */
export interface ListenOptions {
  /** Default 0: any free port. */
  readonly port?: number
  /** Default '127.0.0.1'. An address that is not loopback requires `authorize`. */
  readonly host?: string
}

/** A server that listens. */
export interface Listening {
  /** The address of the page. */
  readonly url: string
  /** Ends the live streams and the server, not the runtime. */
  readonly close: () => Promise<void>
}

/** A dashboard, to mount in a server or to serve by itself. */
export interface Dashboard {
  /** Answers a request, with any prefix: the page at a path that ends in `/`, and its API below. It never rejects. */
  readonly fetch: (request: Request) => Promise<Response>
  /** The same as a listener for `node:http`, Express, Fastify and compatible servers. */
  readonly node: (request: IncomingMessage, response: ServerResponse) => void
  /** Starts a server for the dashboard alone. @throws JobchartError INVALID_OPTION; errors of `node:http`, for example if the port is in use */
  readonly listen: (options?: ListenOptions) => Promise<Listening>
}

/** The path after the prefix: for `/admin/jobs/api/v1/overview`, `/api/v1/overview`. */
function pathBehindPrefix(path: string): string {
  if (path.endsWith('/')) return '/'
  const asset = /\/assets\/[^/]+\.(?:js|css)$/.exec(path)
  if (asset !== null) return asset[0]
  if (path.endsWith('/api/v1')) return '/api/v1'
  const api = path.lastIndexOf('/api/v1/')
  return api === -1 ? path : path.slice(api)
}

/**
 * Creates a dashboard of a runtime or client: a page, and a JSON API that programs can use as well.
 * @param options see `DashboardOptions`
 * @throws JobchartError INVALID_OPTION
 * @example
 * const { url, close } = await createDashboard({ runtime }).listen({ port: 4000 })
 * @example
 * app.use('/jobs', createDashboard({ runtime, authorize }).node) // Express
 */
export function createDashboard(options: DashboardOptions): Dashboard {
  const settings = dashboardSettings(options)
  const pathOf = (request: Request): string => pathBehindPrefix(new URL(request.url).pathname)
  const { app, live } = routes(settings, pathOf)

  const answer = async (request: Request, peer: Peer): Promise<Response> => {
    try {
      if (request.url.length > urlCharsMax) return problem(414, 'URI_TOO_LONG', 'The address is too long.')
      const role = await admit(settings, request, peer)
      if (role instanceof Response) return role
      const path = peer.path ?? new URL(request.url).pathname
      const inner = pathBehindPrefix(path)
      // Relative addresses in the page need the slash.
      if (inner === path && !/^\/(api\/v1|assets)?(\/|$)/.test(path)) return redirect(path)
      return await withinTime(Promise.resolve(app.fetch(request, { role, peer, path: inner })))
    } catch (error) {
      consoleLogger.error('the dashboard could not answer', { error })
      return failure(error)
    }
  }

  const listener = getRequestListener(
    (request, env) => answer(request, peerOf((env as { incoming: IncomingMessage }).incoming)),
    { overrideGlobalObjects: false },
  )
  const node = (request: IncomingMessage, response: ServerResponse): void => void listener(request, response)
  return {
    fetch: (request) => answer(request, {}),
    node,
    listen: (where = {}) => listen(where, node, () => live.close(), settings.authorize !== null),
  }
}

function redirect(path: string): Response {
  const last = path.slice(path.lastIndexOf('/') + 1)
  // Without the prefix, a name with a colon would be parsed as a scheme.
  return new Response(null, { status: 302, headers: { location: `./${last}/` } })
}

/** Properties that frameworks add to a request: Express the full URL and the parsed body, Fastify none. */
function peerOf(incoming: IncomingMessage): Peer {
  const { originalUrl, body } = incoming as { readonly originalUrl?: unknown; readonly body?: unknown }
  const path = typeof originalUrl === 'string' ? originalUrl.split('?', 1)[0] : undefined
  return { address: incoming.socket.remoteAddress ?? 'unknown', path, body }
}

function withinTime(answer: Promise<Response>): Promise<Response> {
  return new Promise((resolve, reject) => {
    const late = (): void =>
      reject(new JobchartError('TIMEOUT', `no answer within ${answerMsMax} ms`, { hint: 'Does the store answer?' }))
    const timer = systemClock.timer(late, answerMsMax, { keepAlive: false })
    answer.then(resolve, reject).finally(() => timer.cancel())
  })
}

async function listen(
  { port = 0, host = '127.0.0.1', ...others }: ListenOptions,
  node: Dashboard['node'],
  endStreams: () => void,
  isGuarded: boolean,
): Promise<Listening> {
  checkKeys('options of listen', others, [])
  checkInteger('port', port, 0, 65_535)
  if (!isGuarded && !isLoopback(host)) {
    const hint =
      'Pass `authorize` to createDashboard: anybody who can reach the port could retry, cancel and discard jobs.'
    throw invalidOption('host', 'a loopback address, because there is no authorize', host, hint)
  }
  const server = createServer({ requestTimeout: 30_000, headersTimeout: 10_000, maxHeaderSize: 16_384 }, node)
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      server.off('error', reject)
      resolve()
    })
  })
  const { address, family, port: bound } = server.address() as AddressInfo
  return {
    url: `http://${family === 'IPv6' ? `[${address}]` : address}:${bound}/`,
    close: () =>
      new Promise((resolve, reject) => {
        endStreams()
        server.close((error) => (error === undefined ? resolve() : reject(error)))
        server.closeAllConnections()
      }),
  }
}
