/**
 * The token of a dashboard without `authorize`. A proxy on the same computer passes requests of strangers on as
 * requests of its own, with a loopback name and without a trace of them: only what the process has printed tells its
 * user from others.
 */
import { timingSafeEqual } from 'node:crypto'
import { nanoid } from 'nanoid'

const tokenChars = 32
const segment = 'token='

export class AccessToken {
  readonly text = nanoid(tokenChars)
  /**
   * A part of the page's address, before its last slash: `token=…`. Addresses that are relative to the page's carry it
   * on.
   */
  readonly segment = `${segment}${this.text}`

  /** Does the request carry it in its address: in a part of the path, or as `?token=`? */
  isInAddress({ url }: Request): boolean {
    const { pathname, searchParams } = new URL(url)
    const part = pathname.split('/').find((each) => each.startsWith(segment))
    return this.matches(part?.slice(segment.length)) || this.matches(searchParams.get('token'))
  }

  /** Does the request carry it: in its address, its cookie or its `Authorization`? */
  isIn(request: Request): boolean {
    const { headers } = request
    const bearer = /^Bearer (\S+)$/i.exec(headers.get('authorization') ?? '')?.[1]
    return this.matches(bearer) || this.matches(cookieIn(headers, cookieName(request))) || this.isInAddress(request)
  }

  /** The cookie that takes its place in the address. A page of another site does not send it with a change. */
  cookieFor(request: Request): string {
    const isSecure = new URL(request.url).protocol === 'https:'
    return `${cookieName(request)}=${this.text}; Path=/; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`
  }

  private matches(given: string | null | undefined): boolean {
    if (given?.length !== tokenChars) return false
    const [left, right] = [given, this.text].map((text) => Buffer.from(text))
    return left !== undefined && right !== undefined && left.length === right.length && timingSafeEqual(left, right)
  }
}

/** Cookies belong to a host name, whatever the port: dashboards on several ports of a computer each have their own. */
function cookieName(request: Request): string {
  const host = request.headers.get('host') ?? new URL(request.url).host
  return `jobchart-${/:(\d+)$/.exec(host)?.[1] ?? 'token'}`
}

function cookieIn(headers: Headers, name: string): string | undefined {
  const cookies = (headers.get('cookie') ?? '').split(';').map((each) => each.trim())
  return cookies.find((each) => each.startsWith(`${name}=`))?.slice(name.length + 1)
}
