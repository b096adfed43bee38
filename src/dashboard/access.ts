/** Access checks: roles, loopback only without `authorize`, and changes from the same origin only. */
import type { DashboardSettings, Role } from './options.ts'
import { problem } from './answers.ts'

/** What a server knows of a request beyond the `Request`. */
export interface Peer {
  /** Address of the client; undefined if only a `Request` is known. */
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
 * Without `authorize`: only from this computer, and with a loopback name in the Host header. Another site may resolve its own name to
 * 127.0.0.1 (DNS rebinding), but the Host header of its requests then has that name.
 */
function refusedOutside(request: Request, { address }: Peer): Response | null {
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
      hint: 'Does a proxy change the Host header? Let it pass the header on.',
    })
  }
  const type = request.headers.get('content-type') ?? ''
  if (/^application\/json\s*(;|$)/i.test(type)) return null
  return problem(415, 'UNSUPPORTED_MEDIA_TYPE', 'A change is sent as application/json.')
}

function isOwnOrigin(request: Request, origin: string): boolean {
  const host = request.headers.get('host') ?? new URL(request.url).host
  return URL.canParse(origin) && new URL(origin).host === host
}

/**
 * The role of the user, or the response that refuses the request.
 * @throws the error of `authorize`; TypeError if it returns neither a role nor a Response
 */
export async function admit(settings: DashboardSettings, request: Request, peer: Peer): Promise<Role | Response> {
  const role = settings.authorize ? await settings.authorize(request) : (refusedOutside(request, peer) ?? 'admin')
  if (role instanceof Response) return role
  if (role !== 'admin' && role !== 'read') throw new TypeError("authorize gave neither 'admin', 'read' nor a Response")
  if (request.method === 'GET' || request.method === 'HEAD') return role
  if (request.method !== 'POST') return problem(405, 'METHOD_NOT_ALLOWED', 'Use GET or POST.')
  const refused = refusedOrigin(request)
  if (refused !== null) return refused
  if (role === 'read') return problem(403, 'READ_ONLY', 'Your role allows reading only.')
  return role
}

/** The context of a request for its route. */
export interface RouteEnv {
  readonly Bindings: { readonly role: Role; readonly peer: Peer; readonly path: string }
}
