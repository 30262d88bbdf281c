# Receives webhooks of Posture. Requires Windows PowerShell 5.1 or PowerShell 7 and no modules.
#
# WEBHOOK_SECRET  the signing secret exactly as it was shown: whsec_...
# PORT            the port to listen on at 127.0.0.1, behind an HTTPS reverse proxy (default 8090)

$ErrorActionPreference = 'Stop'
if (-not $env:WEBHOOK_SECRET) { throw 'WEBHOOK_SECRET is not set' }
$Secret = [Text.Encoding]::UTF8.GetBytes($env:WEBHOOK_SECRET)
$Port = if ($env:PORT) { [int]$env:PORT } else { 8090 }
$BodyBytesMax = 1024 * 1024
$IdsMax = 100000

# In order of arrival. Store the ids with the events, so that they survive a restart.
$KnownIds = [Collections.Generic.HashSet[string]]::new()
$Order = [Collections.Generic.Queue[string]]::new()

# Compares in constant time: it always looks at every character.
function Test-Same([string]$Expected, [string]$Given) {
    $difference = $Expected.Length -bxor $Given.Length
    for ($i = 0; $i -lt $Expected.Length; $i++) {
        $other = if ($i -lt $Given.Length) { [int]$Given[$i] } else { 0 }
        $difference = $difference -bor ([int]$Expected[$i] -bxor $other)
    }
    return $difference -eq 0
}

# Returns true if the signature matches the raw body.
function Test-Signed($Headers, [byte[]]$Body) {
    $hmac = [Security.Cryptography.HMACSHA256]::new($Secret)
    $digest = $hmac.ComputeHash($Body)
    $hmac.Dispose()
    $expected = [BitConverter]::ToString($digest).Replace('-', '').ToLowerInvariant()
    # After a rotation, the second header has a signature made with the previous secret.
    $first = Test-Same $expected $Headers['X-Service-Signature']
    $second = Test-Same $expected $Headers['X-Service-Signature-Previous']
    return $first -or $second
}

# Returns true the first time. A delivery can arrive more than once, with the same id.
function Test-New([string]$Id) {
    if (-not $KnownIds.Add($Id)) { return $false }
    $Order.Enqueue($Id)
    if ($Order.Count -gt $IdsMax) { [void]$KnownIds.Remove($Order.Dequeue()) }
    return $true
}

function Read-Body($Request) {
    $body = [byte[]]::new([int]$Request.ContentLength64)
    $length = 0
    while ($length -lt $body.Length) {
        $n = $Request.InputStream.Read($body, $length, $body.Length - $length)
        if ($n -eq 0) { throw 'the body ended early' }
        $length += $n
    }
    return , $body
}

# Slow work belongs in another process. Hand the event over here, after the response.
function Invoke-Work([byte[]]$Body) {
    $text = [Text.Encoding]::UTF8.GetString($Body)
    $received = ConvertFrom-Json $text
    [Console]::Out.WriteLine("$($received.id) $($received.type) $($received.data.clientId)")
}

$listener = [Net.HttpListener]::new()
$listener.Prefixes.Add("http://127.0.0.1:$Port/")
$listener.Start()
[Console]::Out.WriteLine("listening on http://127.0.0.1:$Port/")
while ($listener.IsListening) {
    $context = $listener.GetContext()
    $request = $context.Request
    $body = $null
    $status = 413
    try {
        if ($request.ContentLength64 -ge 0 -and $request.ContentLength64 -le $BodyBytesMax) {
            $body = Read-Body $request
            $status = if (Test-Signed $request.Headers $body) { 204 } else { 401 }
        }
        $context.Response.StatusCode = $status
        $context.Response.Close()
        if ($status -eq 204 -and (Test-New $request.Headers['X-Service-Event-Id'])) {
            Invoke-Work $body
        }
    }
    catch {
        [Console]::Error.WriteLine("a request failed: $_")
        $context.Response.Abort()
    }
}
