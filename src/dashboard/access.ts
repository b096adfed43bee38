/** Access checks: roles; without `authorize` loopback only, with the token; and changes from the same origin only. */
import type { DashboardSettings, Role } from './options.ts'
import { problem } from './answers.ts'
import type { AccessToken } from './token.ts'

/** What a server knows of a request beyond the `Request`. */
export interface Peer {
  /** Address of the other end of the connection; undefined if only a `Request` is known. */
  readonly address?: string | undefined
  /** The full path, if a framework has removed its prefix from that of the request. */
  readonly path?: string | undefined
  /** The body, if a framework has read it. */
  readonly body?: unknown
}

const isLoopbackName = (name: string): boolean =>
  name === 'localhost' || name.endsWith('.localhost') || name === '[::1]' || /^127(\.\d{1,3}){3}$/.test(name)

/** Is it the address of a socket on this computer? */
export const isLoopback = (address: string): boolean =>
  address === '::1' || /^(::ffff:)?127(\.\d{1,3}){3}$/.test(address) || isLoopbackName(address)

/** The name in a Host header, without its port; null if it is none. */
function hostName(host: string): string | null {
  try {
    const { hostname, username, pathname } = new URL(`http://${host}`)
    return username === '' && pathname === '/' ? hostname : null
  } catch {
    return null
  }
}

const forwarded = ['forwarded', 'x-forwarded-for', 'x-forwarded-host'] as const

/**
 * Without `authorize`: only from this computer, with a loopback name in the Host header, and with the token. Another
 * site may resolve its own name to 127.0.0.1 (DNS rebinding), but the Host header of its requests then has that name. A
 * proxy on this computer may send that header as its default does, with a loopback name, whoever has asked it: the
 * token is not in such a request.
 */
function refusedOutside(request: Request, peer: Peer, token: AccessToken): Response | null {
  return refusedElsewhere(request, peer) ?? (isOwnCall(request, peer) || token.isIn(request) ? null : unknownUser())
}

/**
 * Was the request made by this program itself? What comes through a server has a Host header, because HTTP/1.1 requires
 * it.
 */
const isOwnCall = (request: Request, { address }: Peer): boolean =>
  address === undefined && !request.headers.has('host')

const unknownUser = (): Response =>
  problem(401, 'TOKEN_MISSING', 'This dashboard opens at the address that carries its token.', {
    hint: 'Open the address that its process has printed, or pass `authorize` to createDashboard.',
    headers: { 'www-authenticate': 'Bearer' },
  })

function refusedElsewhere(request: Request, { address }: Peer): Response | null {
  const host = request.headers.get('host') ?? new URL(request.url).host
  const name = hostName(host)
  const isProxied = forwarded.some((header) => request.headers.has(header))
  const isLocal = name !== null && isLoopbackName(name) && !isProxied
  if (isLocal && (address === undefined || isLoopback(address))) return null
  return problem(403, 'FORBIDDEN', 'This dashboard answers only requests to a loopback address.', {
    hint: 'Pass `authorize` to createDashboard to serve it elsewhere.',
  })
}

/** A browser sends a change only from this dashboard's own page; another program must send JSON. */
function refusedOrigin(request: Request): Response | null {
  const site = request.headers.get('sec-fetch-site')
  const origin = request.headers.get('origin')
  const isOwn = site === null ? origin === null || isOwnOrigin(request, origin) : site === 'same-origin'
  if (!isOwn) {
    return problem(403, 'CROSS_ORIGIN', 'A change must come from the page of this dashboard.', {
      hint: 'Does a proxy change the Host header, or end TLS? Let it pass on Host, and set X-Forwarded-Proto.',
    })
  }
  const type = request.headers.get('content-type') ?? ''
  if (/^application\/json\s*(;|$)/i.test(type)) return null
  return problem(415, 'UNSUPPORTED_MEDIA_TYPE', 'A change is sent as application/json.')
}

function isOwnOrigin(request: Request, origin: string): boolean {
  const { host: ownHost, protocol } = new URL(request.url)
  const host = request.headers.get('host') ?? ownHost
  // A proxy that ends TLS says so; the connection to this process is plain.
  const scheme = request.headers.get('x-forwarded-proto')?.split(',', 1)[0]?.trim()
  const own = `${scheme ?? protocol.slice(0, -1)}://${host}`
  return URL.canParse(origin) && URL.canParse(own) && new URL(origin).origin === new URL(own).origin
}

/**
 * The role of the user, or the response that refuses the request.
 * @throws the error of `authorize`; TypeError if it returns neither a role nor a Response
 */
export async function admit(settings: DashboardSettings, request: Request, peer: Peer): Promise<Role | Response> {
  const role = settings.authorize
    ? await settings.authorize(request)
    : (refusedOutside(request, peer, settings.token) ?? 'admin')
  if (role instanceof Response) return role
  if (role !== 'admin' && role !== 'read') throw new TypeError("authorize gave neither 'admin', 'read' nor a Response")
  if (request.method === 'GET' || request.method === 'HEAD') return role
  if (request.method !== 'POST') return problem(405, 'METHOD_NOT_ALLOWED', 'Use GET or POST.')
  return refusedOrigin(request) ?? role
}

/** Who asks, as far as it can be told: requests of one browser or program have the same text. */
export const userOf = ({ headers }: Request, { address }: Peer): string =>
  [address, headers.get('authorization'), headers.get('cookie')].join('\n')

/** The context of a request for its route. */
export interface RouteEnv {
  readonly Bindings: { readonly role: Role; readonly peer: Peer; readonly path: string }
}
