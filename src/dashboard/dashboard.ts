/** The dashboard: one `fetch` handler that mounts in any server, a listener for Node's, and a server of its own. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { byDefault, integer, table, text, type RulesOf } from '../core/checks.ts'
import { invalidOption, JobchartError } from '../core/errors.ts'
import { consoleLogger } from '../core/logger.ts'
import { admit, isLoopback, type Peer } from './access.ts'
import { failure, problem } from './answers.ts'
import type { Condition } from './condition.ts'
import { dashboardSettings, type DashboardOptions, type DashboardSettings } from './options.ts'
import { withNames } from './path-segment.ts'
import type { Recent } from './recent.ts'
import { routes } from './routes.ts'
import type { AccessToken } from './token.ts'
import { TroubleWatch, type TroubleReport } from './trouble-watch.ts'
import { answered } from './within-time.ts'

const urlCharsMax = 8_192
/** Node compares the times with the limits once in each interval. */
const serverLimits = {
  requestTimeout: 30_000,
  headersTimeout: 10_000,
  connectionsCheckingInterval: 500,
  maxHeaderSize: 16_384,
} as const

/** Where a dashboard listens. */
export interface ListenOptions {
  /** Default 0: any free port. */
  readonly port?: number
  /** Default '127.0.0.1'. An address that is not loopback requires `authorize`. */
  readonly host?: string
}

/** A server that listens. It is closed when the runtime of the dashboard has stopped; with a client, call `close`. */
export interface Listening {
  /** The address of the page. Without `authorize` it carries the token, also for addresses that are relative to it. */
  readonly url: string
  /** What a program sends as `Authorization: Bearer …`; null with `authorize`. */
  readonly token: string | null
  /** Ends the live streams and the server, not the runtime. Further calls wait for the same end. */
  readonly close: () => Promise<void>
}

/** A dashboard, to mount in a server or to serve by itself. */
export interface Dashboard {
  /**
   * Answers a request, with any prefix: the page at a path that ends in `/`, and its API below. It never rejects.
   * Without `authorize` a `Request` that the program has made itself, without a Host header, needs no token. Nothing is
   * compressed: that is left to who serves the `Response`. `node` and `listen` compress the files of the page.
   */
  readonly fetch: (request: Request) => Promise<Response>
  /** The same as a listener for `node:http`, Express, Fastify and compatible servers. */
  readonly node: (request: IncomingMessage, response: ServerResponse) => void
  /**
   * Starts a server for the dashboard alone. It ends with the runtime: a process that stops its runtime ends by itself.
   * @throws JobchartError INVALID_OPTION, STOPPED if the runtime has stopped; errors of `node:http`, for example if the
   * port is in use
   */
  readonly listen: (options?: ListenOptions) => Promise<Listening>
}

/** The path after the prefix: for `/admin/jobs/api/v1/overview`, `/api/v1/overview`. */
function pathBehindPrefix(path: string): string {
  if (path.endsWith('/')) return '/'
  const asset = /\/assets\/[^/]+\.(?:js|css)$/.exec(path)
  if (asset !== null) return asset[0]
  if (path.endsWith('/api/v1')) return '/api/v1'
  const api = path.lastIndexOf('/api/v1/')
  if (api !== -1) return withNames(path.slice(api))
  return path.endsWith('/metrics') ? '/metrics' : path
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
  const { app, live, recent } = routes(settings, pathOf)
  const watch = watchOf(settings, recent)
  const ends = new Set<() => void>([() => live.close(), () => watch?.stop()])
  let hasStopped = false
  // An open stream would hold the server that it is mounted in, and so the process.
  settings.runtime?.state$.subscribe({
    complete: () => {
      hasStopped = true
      for (const end of ends) end()
    },
  })
  let isListening = false
  let isTold = false

  /** Prints where the page opens, once: of a dashboard in a server of the user's, nobody else knows its address. */
  const tellAddress = (request: Request, path: string): void => {
    if (isTold || isListening || !path.endsWith('/')) return
    isTold = true
    const { protocol, host } = new URL(request.url)
    consoleLogger.warn(
      `the dashboard has no authorize: it opens at ${protocol}//${host}${path}${settings.token.segment}/`,
    )
  }

  const answer = async (request: Request, peer: Peer): Promise<Response> => {
    try {
      if (request.url.length > urlCharsMax) return problem(414, 'URI_TOO_LONG', 'The address is too long.')
      const path = peer.path ?? new URL(request.url).pathname
      const role = await answered(admit(settings, request, peer), '`authorize` has not decided.')
      if (role instanceof Response) {
        if (role.status === 401 && settings.authorize === null) tellAddress(request, path)
        return role
      }
      const inner = pathBehindPrefix(path)
      // Relative addresses in the page need the slash.
      if (inner === path && !/^\/(api\/v1|assets|metrics)?(\/|$)/.test(path)) return redirect(path)
      const response = await answered(Promise.resolve(app.fetch(request, { role, peer, path: inner })))
      // From the first page on, a cookie takes the place of the token in the address; the page takes it out there.
      const opens = settings.authorize === null && inner === '/' && settings.token.isInAddress(request)
      if (opens) response.headers.append('set-cookie', settings.token.cookieFor(request))
      return response
    } catch (error) {
      consoleLogger.error('the dashboard could not answer', { error })
      return failure(error, 'read')
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
    listen: async (where = {}) => {
      if (hasStopped) throw new JobchartError('STOPPED', 'the runtime of the dashboard has stopped')
      isListening = true
      const listening = await listen(
        where,
        node,
        () => live.close(),
        settings.authorize === null ? settings.token : null,
      )
      const end = (): void => void listening.close()
      ends.add(end)
      if (hasStopped) end()
      return { ...listening, close: () => listening.close().finally(() => ends.delete(end)) }
    },
  }
}

/** Null: nobody wants to be told of trouble. */
function watchOf(
  { onTrouble, push, troubleEveryMs }: DashboardSettings,
  recent: Recent<Condition>,
): TroubleWatch | null {
  if (onTrouble === null && push === null) return null
  const tell = async (report: TroubleReport): Promise<void> => {
    await Promise.all([onTrouble?.(report), push?.tell(report)])
  }
  return new TroubleWatch(recent, tell, troubleEveryMs)
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

const listenOptions = table({
  port: byDefault(0, integer(0, 65_535)),
  host: byDefault('127.0.0.1', text(253)),
} satisfies RulesOf<ListenOptions>)

async function listen(
  options: ListenOptions,
  node: Dashboard['node'],
  endStreams: () => void,
  token: AccessToken | null,
): Promise<Listening> {
  const { port, host } = listenOptions(options, 'options of listen')
  if (token !== null && !isLoopback(host)) {
    const hint =
      'Pass `authorize` to createDashboard: anybody who can reach the port could retry, cancel and discard jobs.'
    throw invalidOption('host', 'a loopback address, because there is no authorize', host, hint)
  }
  const server = createServer({ ...serverLimits }, node)
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      server.off('error', reject)
      resolve()
    })
  })
  const { address, family, port: bound } = server.address() as AddressInfo
  let closing: Promise<void> | null = null
  const close = (): Promise<void> =>
    new Promise((resolve, reject) => {
      endStreams()
      server.close((error) => (error === undefined ? resolve() : reject(error)))
      server.closeAllConnections()
    })
  return {
    url: `http://${family === 'IPv6' ? `[${address}]` : address}:${bound}/${token === null ? '' : `${token.segment}/`}`,
    token: token === null ? null : token.text,
    close: () => (closing ??= close()),
  }
}
