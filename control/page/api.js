// Requests to the tracker, with the token where it wants one.

export const session = {
  token: sessionStorage.getItem('token') || '',
  ahead: 0, // ms that the tracker's clock is ahead of this one
  onToken: () => {}, // a token is required
};

export const authorization = () => (session.token ? { Authorization: `Bearer ${session.token}` } : {});

export function setToken(token) {
  session.token = token;
  sessionStorage.setItem('token', token);
}

export async function request(method, path, body) {
  const headers = authorization();
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  const sent = Date.now();
  let response;
  try {
    response = await fetch(path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) });
  } catch {
    throw new Error('The tracker does not answer. Is it still running?');
  }
  if (response.status === 401) {
    session.onToken();
    throw new Error('A token is required.');
  }
  const there = Number(response.headers.get('X-Time'));
  if (method === 'GET' && there) session.ahead = there - (sent + Date.now()) / 2;
  const answer = await response.json().catch(() => null);
  if (!response.ok) {
    const error = new Error(answer?.error?.message || `The tracker answered ${response.status}.`);
    error.code = answer?.error?.code;
    throw error;
  }
  return answer;
}
